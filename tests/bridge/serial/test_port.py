"""Serial ports in daily use: lost, found, silent, noisy, and one with a defect in its code."""

import errno
import functools
import logging
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.json_lines import MemberReader
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.serial import port
from firmware_bridge.serial.link import Link, PortLost
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.port_errors import sentence_of
from firmware_bridge.serial.settings import PortSettings

from gateway.process.mqtt_client import backoff
from tests.bridge.board import acknowledgements, board_frame
from tests.bridge.broker import Subscriber
from tests.bridge.running import ControlRoom, port_of, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port

REPLUGS = 20
REPLUGS_LONG = 100


async def test_lines_are_numbered_again_at_each_start_of_the_bridge(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    for start in (1, 2):
        async with running_bridge(settings) as room:
            await room.wait_for_port("sensor", "open")
            await terminal.write(b'{"a":1}\n{"a":2}\n')
            await subscriber.arrival_of(2 * start)
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    first = numbers[0][0]
    assert numbers == [(first, 1), (first, 2), (first + 1, 1), (first + 1, 2)]


async def test_a_lost_port_is_reported_once_and_recovers_without_a_restart(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"a":1}\n{"a":')
        await subscriber.arrival_of(1)
        terminal.unplug()
        await room.wait_for_port("sensor", "lost")
        terminal.plug_in()
        await room.wait_for_port("sensor", "open")
        await terminal.write(b'{"a":2}\n')
        await subscriber.arrival_of(2)
        await room.wait_until(lambda room: len(room.observations) == 3)
    assert [each["event"] for each in room.observations] == [
        "serial_port_found",
        "serial_port_lost",
        "serial_port_found",
    ]
    assert {each["port"] for each in room.observations} == {"sensor"}
    assert [record["v"] for record in subscriber.records()] == [1, 2]
    lost = [line for line in caplog.messages if "trying again" in line]
    assert len(lost) <= 2, "the loss, and at most one line for the path that is not there"


def _is_reopened(room: ControlRoom, times: int) -> bool:
    return room.port("sensor").get("reopened") == times


@pytest.mark.parametrize("replugs", [REPLUGS, pytest.param(REPLUGS_LONG, marks=pytest.mark.long)])
async def test_a_port_replugged_many_times_under_other_names_loses_nothing_it_was_asked_to_read(
    replugs: int,
    subscriber: Subscriber,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "firmware_bridge")
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.005)
    kept = []  # A name that is still open is not given to the next terminal.
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        open_files = len(os.listdir("/proc/self/fd"))
        for number in range(1, replugs + 1):
            opened = functools.partial(_is_reopened, times=number - 1)
            await room.wait_until(opened)
            await room.wait_for_port("sensor", "open")
            await terminal.write(b'{"a":%d}\n' % number)
            await room.wait_until(lambda room, n=number: room.port("sensor")["frames"] == n)  # type: ignore[misc]
            terminal.unplug()
            kept.append(os.openpty())
            terminal.plug_in()
        await subscriber.arrival_of(replugs)
        left_open = len(os.listdir("/proc/self/fd")) - open_files - 2 * replugs
    for master, slave in kept:
        os.close(master)
        os.close(slave)
    assert [record["v"] for record in subscriber.records()] == list(range(1, replugs + 1))
    assert left_open < replugs / 2, "no port stays open"
    lines = [line for line in caplog.messages if "serial port" in line]
    assert len(lines) <= 4 * replugs + 2, "found, lost, perhaps not there yet: a line a change"


async def test_a_port_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    port = port_of("sensor", tmp_path / "later", "json")
    async with running_bridge(settings_of(tmp_path / "data", free_port(), port)) as room:
        await room.wait_until(lambda room: "later" in str(room.port("sensor").get("trouble")))
        assert room.port("sensor")["state"] == "waiting"
        terminal = Terminal(tmp_path / "later")
        await room.wait_for_port("sensor", "open")
        assert room.port("sensor")["trouble"] is None
        terminal.unplug()


async def test_rubbish_without_end_neither_fills_the_log_nor_the_memory(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(tmp_path / "data", free_port(), port_on(terminal, "board"))
    rubbish = os.urandom(256 * 1024)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        lines = len(caplog.messages)
        await terminal.write(rubbish)
        await room.wait_until(lambda room: room.port("sensor")["bytes"] == len(rubbish))
        damaged = room.port("sensor")["damaged"].values()
        assert sum(damaged) > 100
        doublings = sum(count.bit_length() for count in damaged)
        assert len(caplog.messages) <= lines + 1 + doublings, "a line for a doubling"
        assert room.port("sensor")["readings"] == 0
        await terminal.write(board_frame(1))
        assert await acknowledgements(terminal, 1) == [1]


@dataclass(frozen=True, kw_only=True)
class Defective(DecoderSettings):
    """A JSON protocol with a planted defect in its decoder."""

    def decoder(self) -> LineDecoder:
        return LineDecoder(read_or_raise, can_mistake_part_of_line=False)


def read_or_raise(line: str, skipped: Counter[str]) -> dict[str, Measurement]:
    if "poison" in line:
        raise ArithmeticError("a planted defect")
    return MemberReader(Kinds()).read(line, skipped)


async def test_an_error_of_one_port_ends_its_reading_and_touches_no_other(
    subscriber: Subscriber,
    terminal: Terminal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(port, "FAILURE_BACKOFF_SECONDS_MAX", 0.02)
    other = Terminal(tmp_path / "line")
    ports = (
        PortSettings("sensor", str(terminal.link), None, "defective", Defective()),
        port_of("other", other.link, "key_value"),
    )
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, *ports)) as room:
        await room.wait_for_port("other", "open")
        for number in range(1, 4):
            await room.wait_for_port("sensor", "open")
            await terminal.write(b'{"a":%d}\n' % number)
            await subscriber.arrival_of(2 * number - 1)
            await terminal.write(b'{"a":"poison"}\n')
            await room.wait_until(lambda room, n=number: room.port("sensor")["failures"] == n)  # type: ignore[misc]
            await other.write(b"a=%d\n" % -number)
            await subscriber.arrival_of(2 * number)
        await room.wait_for_port("sensor", "open")
        assert room.port("other")["failures"] == 0
    assert [record["v"] for record in subscriber.records()] == [1, -1, 2, -2, 3, -3]
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1, "once, however often it comes"
    assert errors[0].exc_info is not None
    assert "a planted defect" in caplog.text
    other.unplug()


async def test_a_device_that_udev_has_not_set_up_yet_is_no_fault_and_one_that_stays_denied_is(
    subscriber: Subscriber,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = 0

    async def denied(settings: PortSettings) -> Link:
        nonlocal refusals
        refusals -= 1
        if refusals < 0:
            return await open_port(settings)
        raise PortLost(sentence_of("/dev/ttyUSB0", PermissionError(errno.EACCES, "x")))

    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.005)
    monkeypatch.setattr("firmware_bridge.serial.port.open_port", denied)
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "json")
    )
    for count, logged in ((1, 0), (4, 1)):
        refusals = count
        caplog.clear()
        async with running_bridge(settings) as room:
            await room.wait_for_port("sensor", "open")
        assert caplog.text.count("permission denied") == logged

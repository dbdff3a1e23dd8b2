"""Lines with devices that are polled, on real ports and with a protocol that only tests have."""

import asyncio
import time
from pathlib import Path

import pytest
from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.pattern_lines import PatternLines
from firmware_bridge.serial.settings import PortSettings

from gateway.process.mqtt_client import backoff
from tests.bridge.broker import Subscriber
from tests.bridge.meters import MeterPoller, answer_of
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.serial.meter_line import (
    NORTH,
    PATIENT,
    SHORT,
    SOUTH,
    MeterLine,
    asked_line,
    counted,
    meters,
    port_with,
)
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


async def test_each_device_of_a_line_is_asked_in_turn_and_its_answer_is_a_reading_of_its_own(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    async with asked_line(terminal, subscriber.port, meters(NORTH, SOUTH)) as (line, room):
        addresses = [await line.answer(value) for value in (10, 20, 11, 21)]
        await subscriber.arrival_of(4)
        await room.wait_until(lambda room: room.port("meters")["frames"] == 4)
        shown = room.port("meters")
    assert addresses == [1, 2, 1, 2]
    read = [(each["topic"], each["v"], each["sequence"]) for each in subscriber.records()]
    assert read == [
        ("sensors/north/energy", 10, 1),
        ("sensors/south/energy", 20, 1),
        ("sensors/north/energy", 11, 2),
        ("sensors/south/energy", 21, 2),
    ]
    assert (shown["framing"], shown["damaged"], shown["foreign"]) == ("meters", {}, {})
    assert [each["device"] for each in shown["devices"]] == ["north", "south"]


async def test_a_sensor_with_fixed_bytes_is_woken_up_asked_and_read(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    scale = PatternLines(
        pattern=r"S S +(?P<mass>[0-9.]+) g", poll_text="SI\r\n", poll_interval=0.05,
        answer_timeout=PATIENT, wake="00", wake_pause=0.01,
    )  # fmt: skip
    port = PortSettings("scale", str(terminal.link), None, "pattern", scale)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        heard = b""
        while not heard.endswith(b"SI\r\n"):
            heard += await terminal.read()
        terminal.send(b"S S     100.05 g\r\n")
        await subscriber.arrival_of(1)
        await room.wait_until(lambda room: room.port("scale").get("frames") == 1)
    assert heard == b"\0SI\r\n"
    (record,) = subscriber.records()
    assert (record["topic"], record["v"]) == ("sensors/scale/mass", 100.05)


async def test_an_answer_in_pieces_is_one_answer(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    async with asked_line(terminal, subscriber.port, meters(NORTH)) as (line, room):
        await line.request()
        for byte in answer_of(1, 10):
            line.send(bytes((byte,)))
            await asyncio.sleep(0)
        await subscriber.arrival_of(1)
        assert room.port("meters").get("damaged", {}) == {}


async def test_a_device_that_is_silent_is_counted_and_keeps_no_other_from_being_asked(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = meters(NORTH, SOUTH, answer_timeout=SHORT)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        while len(subscriber.messages) < 3:
            address = await line.request()
            if address == SOUTH.address:
                line.send(answer_of(address, 20))
        await counted(room, "damaged", "no_answer", 2)
    assert {each["topic"] for each in subscriber.records()} == {"sensors/south/energy"}


async def test_an_answer_that_came_in_time_counts_however_busy_the_bridge_was(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    # Longer than a busy machine takes to send the response.
    in_time = 1.0
    settings = meters(NORTH, answer_timeout=in_time, poll_interval=PATIENT)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        await line.answer(10)
        time.sleep(2 * in_time)  # noqa: ASYNC251 - the event loop is blocked
        await subscriber.arrival_of(1)
        assert room.port("meters").get("damaged", {}) == {}


async def test_a_port_that_was_lost_is_found_again_and_asked_from_the_beginning(
    subscriber: Subscriber, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    settings = meters(NORTH, SOUTH)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        await line.answer(10)
        await line.request()
        terminal.unplug()
        await room.wait_for_port("meters", "lost")
        terminal.plug_in()
        await room.wait_for_port("meters", "open")
        assert await MeterLine(terminal).answer(11) == NORTH.address
        await subscriber.arrival_of(2)
    assert [each["v"] for each in subscriber.records()] == [10, 11]


async def test_an_error_in_a_poller_begins_again_and_its_counters_continue(
    subscriber: Subscriber, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(poller: MeterPoller, answer: bytes) -> Frame | Damage | None:
        if b"poison" in answer:
            raise ArithmeticError("a planted defect")
        return original(poller, answer)

    original = MeterPoller.read
    monkeypatch.setattr(MeterPoller, "read", read)
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    async with asked_line(terminal, subscriber.port, meters(NORTH)) as (line, room):
        await line.request()
        line.send(b"bad\n")
        await line.request()
        line.send(b"poison\n")
        await room.wait_until(lambda room: room.port("meters")["failures"] == 1)
        await line.answer(10)
        await subscriber.arrival_of(1)
        assert room.port("meters")["damaged"] == {"checksum": 1}


async def test_readings_that_find_no_room_are_counted_and_leave_a_gap(
    terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(
        tmp_path / "data",
        free_port(),
        port_with(terminal, meters(NORTH, poll_interval=0.001)),
        outbox_bytes_max=65536,
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("meters", "open")
        line = MeterLine(terminal)
        for value in range(600):
            await line.answer(value)
        await room.wait_until(lambda room: room.port("meters")["frames"] == 600)
        shown = room.port("meters")
    assert shown["dropped"]["outbox_full"] + shown["readings"] == 600

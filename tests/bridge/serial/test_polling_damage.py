"""Bytes that arrive at the wrong time or damaged never become the response to a request."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from firmware_bridge.protocols.frame import Damage, Frame, Outcome
from firmware_bridge.protocols.interface import Pause, Request
from firmware_bridge.serial import polling
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import SerialLink
from firmware_bridge.serial.polling import Polling, ToIntake
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.status import PortStatus

from gateway.process.declarations.serial_line import Line
from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.meters import ANSWER_BYTES_MAX, Meter, MeterPoller, Meters, answer_of
from tests.bridge.outbox.bench import Bench, running
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


@pytest.mark.parametrize("second", [NORTH, SOUTH], ids=["of one device", "of two devices"])
async def test_a_late_answer_never_becomes_the_answer_to_the_next_request(
    subscriber: Subscriber, terminal: Terminal, second: Meter
) -> None:
    asked = (NORTH,) if second is NORTH else (NORTH, SOUTH)
    settings = meters(*asked, answer_timeout=0.3, late=1.5)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        assert await line.request() == NORTH.address
        await counted(room, "damaged", "no_answer")
        line.send(answer_of(NORTH.address, 666))
        assert await line.answer(10) == second.address
        await subscriber.arrival_of(1)
        await counted(room, "foreign", "late")
        assert room.port("meters")["damaged"] == {"no_answer": 1}
    (record,) = subscriber.records()
    assert (record["device"], record["v"]) == (second.name, 10)


async def test_the_next_request_goes_out_when_no_answer_can_be_late_any_more(
    subscriber: Subscriber, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[float] = []
    asked: list[float] = []
    end, next_step = MeterPoller.end, MeterPoller.next_step

    def noted_end(poller: MeterPoller, outcome: Outcome, now_seconds: float) -> str:
        ended.append(now_seconds)
        return end(poller, outcome, now_seconds)

    def noted_step(poller: MeterPoller, now_seconds: float) -> Request | Pause:
        step = next_step(poller, now_seconds)
        if isinstance(step, Request):
            asked.append(now_seconds)
        return step

    monkeypatch.setattr(MeterPoller, "end", noted_end)
    monkeypatch.setattr(MeterPoller, "next_step", noted_step)
    settings = meters(NORTH, answer_timeout=0.1, late=0.2)
    async with asked_line(terminal, subscriber.port, settings) as (line, _):
        await line.request()
        await line.request()
    assert ended[0] - asked[0] >= 0.1
    assert asked[1] - ended[0] >= 0.2


async def test_noise_between_requests_is_counted_and_belongs_to_no_answer(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = meters(NORTH, poll_interval=0.2)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        await line.answer(10)
        await subscriber.arrival_of(1)
        line.send(answer_of(1, 666))
        await counted(room, "foreign", "unasked")
        await line.answer(11)
        await subscriber.arrival_of(2)
    assert [each["v"] for each in subscriber.records()] == [10, 11]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answer_of(1, 10).replace(b"10 ", b"90 "), "checksum"),
        (b"\xff\x00\n", "checksum"),
        (answer_of(2, 10), "address"),
        (b"x" * (ANSWER_BYTES_MAX + 1), "overlong"),
        (b"!01 1", "truncated"),
    ],
    ids=["flipped", "noise", "of another address", "too long", "cut off"],
)
async def test_a_damaged_answer_is_counted_by_reason_and_the_device_is_asked_again(
    subscriber: Subscriber, terminal: Terminal, answer: bytes, reason: str
) -> None:
    seconds = 1.0 if reason == "truncated" else PATIENT
    settings = meters(NORTH, answer_timeout=seconds)
    async with asked_line(terminal, subscriber.port, settings) as (line, room):
        await line.request()
        line.send(answer)
        await counted(room, "damaged", reason)
        await line.answer(11)
        await subscriber.arrival_of(1)
    assert [each["v"] for each in subscriber.records()] == [11]


async def test_a_line_that_never_stops_sending_takes_no_memory_and_no_other_port_s_time(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0

    def read(poller: MeterPoller, answer: bytes) -> Frame | Damage | None:
        nonlocal longest
        longest = max(longest, len(answer))
        return original(poller, answer)

    original = MeterPoller.read
    monkeypatch.setattr(MeterPoller, "read", read)
    other = Terminal(tmp_path / "other")
    quiet = PortSettings("quiet", str(other.link), None, "meters", meters(SOUTH))
    settings = settings_of(
        tmp_path / "data",
        subscriber.port,
        port_with(terminal, meters(NORTH, answer_timeout=SHORT, late=SHORT)),
        quiet,
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("meters", "open")
        await room.wait_for_port("quiet", "open")
        flood = asyncio.create_task(flood_of(terminal))
        try:
            for value in range(20):
                await MeterLine(other).answer(value)
                await subscriber.arrival_of(value + 1)
            await room.wait_until(lambda room: room.port("meters")["bytes"] > 300_000)
        finally:
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
    assert longest <= ANSWER_BYTES_MAX
    assert [each["v"] for each in subscriber.records()] == list(range(20))
    other.unplug()


async def flood_of(terminal: Terminal) -> None:
    while True:
        await terminal.write(b"noise " * 700)


@contextlib.asynccontextmanager
async def asking_on(
    terminal: Terminal, link: SerialLink, settings: Meters
) -> AsyncIterator[tuple[Polling, PortStatus]]:
    """Run a poller on a line that the test has prepared."""
    sequences: Counter[str] = Counter()

    def next_sequence(device: str) -> int:
        sequences[device] += 1
        return sequences[device]

    async with running(Bench(terminal.link.parent / "outbox.db")) as bench:
        status = PortStatus("meters", "meters", link.path)
        port = port_with(terminal, settings)
        intake = Intake(port, bench.outbox, next_sequence, status)
        asking = Polling(settings, Line(), ToIntake(intake, "meters"))
        task = asyncio.create_task(asking.run(link))
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                yield asking, status
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            link.close()


async def test_what_was_on_the_line_before_a_request_is_no_part_of_its_answer(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the noise itself arrives with pauses.
    monkeypatch.setattr(polling, "QUIET_SECONDS", 0.3)
    monkeypatch.setattr(polling, "NOISE_SECONDS_MAX", DEADLINE_SECONDS)
    link = SerialLink(str(terminal.link), Line())
    # More bytes than one read of the port returns, and more than the kernel passes on at a time.
    before = asyncio.create_task(terminal.write(b"noise " * 3000 + b"\n" + answer_of(1, 666)))
    await asyncio.sleep(0.05)
    async with asking_on(terminal, link, meters(NORTH)) as (asking, status):
        line = MeterLine(terminal)
        await line.answer(10)
        await line.request()
        await before
        values = [each["value"] for each in status.devices["north"].quantities.values()]
        assert (values, status.frames) == ([10], 1)
        assert asking.tally.foreign["unasked"] > 1
        assert not asking.tally.damaged


async def test_a_request_that_the_line_does_not_take_is_counted_and_tried_again(
    terminal: Terminal,
) -> None:
    link = SerialLink(str(terminal.link), Line())
    settings = meters(NORTH, answer_timeout=SHORT)
    async with asking_on(terminal, link, settings) as (asking, status):
        while asking.tally.damaged["unsent"] < 2:
            # The kernel frees some space again for a while, by moving the written bytes.
            while link.write(b"x" * 1000):
                pass
            await asyncio.sleep(0.01)
        sent = b""
        while not sent.endswith(b"?01\n"):
            sent += await terminal.read()
        terminal.send(answer_of(1, 10))
        while not status.frames:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)

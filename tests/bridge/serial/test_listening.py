"""Lines on which sensors send without being polled."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.broker import Subscriber
from tests.bridge.running import port_of, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal


@pytest.mark.parametrize(
    ("framing", "others", "line"),
    [
        ("json", {}, b'{"temperature":21.5}\n'),
        ("key_value", {}, b"temperature=21.5\n"),
        ("csv", {"columns": ("temperature",)}, b"21.5\n"),
    ],
)
async def test_a_line_of_text_becomes_a_reading(
    framing: str, others: dict[str, Any], line: bytes, subscriber: Subscriber, terminal: Terminal
) -> None:
    port = port_on(terminal, framing, units={"temperature": "Cel"}, device="kettle", **others)
    directory = terminal.link.parent / "data"
    async with running_bridge(settings_of(directory, subscriber.port, port)) as room:
        await room.wait_for_port("sensor", "open")
        await room.wait_until(lambda room: room.status["mqtt"]["connected"])
        await terminal.write(line)
        await subscriber.arrival_of(1)
        await room.wait_until(lambda room: bool(room.port("sensor")["devices"]))
        shown = room.port("sensor")["devices"][0]
    (record,) = subscriber.records()
    assert record.pop("t") > 1.7e9
    # A new outbox begins to count its starts from a random number.
    boot = record.pop("boot")
    assert 2**31 < boot < 2**32
    assert record == {
        "topic": "sensors/kettle/temperature",
        "n": "kettle/temperature",
        "u": "Cel",
        "v": 21.5,
        "device": "kettle",
        "sequence": 1,
    }
    assert (shown["device"], shown["boot"], shown["sequence"]) == ("kettle", boot, 1)
    assert shown["quantities"][0]["value"] == 21.5


async def test_a_line_that_floods_keeps_no_other_from_its_turn(
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    other = Terminal(tmp_path / "line")
    ports = (port_on(terminal, "nmea"), port_of("other", other.link, "key_value"))
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, *ports)) as room:
        await room.wait_for_port("sensor", "open")
        await room.wait_for_port("other", "open")
        flood = asyncio.create_task(flood_of(terminal))
        try:
            for number in range(1, 21):
                await other.write(b"a=%d\n" % number)
                await subscriber.arrival_of(number)
            await room.wait_until(lambda room: room.port("sensor")["bytes"] > 300_000)
        finally:
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
    assert [record["v"] for record in subscriber.records()] == list(range(1, 21))
    other.unplug()


async def flood_of(terminal: Terminal) -> None:
    while True:
        await terminal.write(b"\xb5\x62\x01\x07\x00\x20" * 700)

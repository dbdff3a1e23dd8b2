"""Frames on their way into the outbox: acknowledged, distinguished, or dropped."""

import struct
import time
from binascii import crc_hqx
from pathlib import Path

import cbor2
import pytest
from cobs import cobs  # type: ignore[import-untyped]

from tests.bridge.board import acknowledgements, board_frame
from tests.bridge.broker import Subscriber
from tests.bridge.running import port_of, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port

INPUTS = Path(__file__).parents[1] / "protocols" / "inputs"


async def test_a_board_is_answered_once_its_frame_is_durable_and_again_when_it_repeats(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(1) + board_frame(2)[:-4] + board_frame(3))
        assert await acknowledgements(terminal, 2) == [1, 3]
        await terminal.write(board_frame(1) + board_frame(2) + board_frame(3))
        assert sorted(await acknowledgements(terminal, 3)) == [1, 2, 3]
        await room.wait_until(lambda room: room.port("sensor")["duplicates"] == 2)
        assert sum(room.port("sensor")["damaged"].values()) == 1
        await subscriber.arrival_of(3)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(2) + board_frame(1, boot=2))
        assert sorted(await acknowledgements(terminal, 2)) == [1, 2]
        await subscriber.arrival_of(4)
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    assert numbers == [(1, 1), (1, 3), (1, 2), (2, 1)]


async def test_a_board_flashed_again_loses_no_reading_and_is_named(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        for life, frames in ((1, 1000), (2, 1002)):
            for first in range(1, frames, 16):
                some = range(first, min(first + 16, frames + 1))
                await terminal.write(b"".join(board_frame(n, life + n / 4096) for n in some))
                await acknowledgements(terminal, len(some))
        await subscriber.arrival_of(2002)
        # The bridge may have made a report between two readings.
        await room.wait_until(
            lambda room: [each["sequence"] for each in room.port("sensor")["devices"]] == [1002]
        )
        (device,) = room.port("sensor")["devices"]
        assert device["boot"] == 1 + 2**32
        assert room.port("sensor")["repeated_starts"] == 1
        assert room.port("sensor")["duplicates"] == 0
    numbers = [(record["boot"], record["sequence"]) for record in subscriber.records()]
    assert numbers == [
        *((1, n) for n in range(1, 1001)),
        *((1 + 2**32, n) for n in range(1, 1003)),
    ]
    assert caplog.text.count("board-0000002a has begun to count again in its start 1") == 1


async def test_a_meter_whose_clock_is_years_off_has_the_time_of_arrival_and_is_named(
    subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    telegram = (INPUTS / "p1-meter-clock-2000.txt").read_bytes()
    port = port_on(terminal, "dsmr")
    begun = time.time()
    async with running_bridge(
        settings_of(terminal.link.parent / "data", subscriber.port, port)
    ) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(telegram * 3)
        await subscriber.arrival_of(15)
        await room.wait_until(
            lambda room: (
                [each["clock_ms"] for each in room.port("sensor")["devices"]] == [946684800000]
            )
        )
    records = {record["n"].partition("/")[2]: record for record in subscriber.records()}
    assert records["meter_time"]["vs"] == "000101010000W"
    assert records["device_time"]["vs"] == "2000-01-01T00:00:00Z"
    assert records["energy_import_t1"]["v"] == 427.708
    for name in ("p1_version", "meter_time", "energy_import_t1", "power_import"):
        assert begun - 1 <= records[name]["t"] <= time.time() + 1
        assert records[name]["device_t"] == 946684800.0
    line = "the clock of sensor is wrong: it shows 2000-01-01T00:00:00Z"
    assert caplog.text.count(line) == 2, "at the first frame and at the second, not at the third"


async def test_readings_wait_on_disk_while_there_is_no_broker(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    directory = terminal.link.parent / "data"
    port = port_on(terminal, "key_value")
    async with running_bridge(settings_of(directory, free_port(), port)) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"".join(b"a=%d\n" % n for n in range(500)))
        await room.wait_until(lambda room: room.status["outbox"]["waiting"] == 500)
        assert not room.status["mqtt"]["connected"]
    async with running_bridge(settings_of(directory, subscriber.port, port)):
        await subscriber.arrival_of(500)
    assert [record["v"] for record in subscriber.records()] == list(range(500))


async def test_a_full_outbox_makes_boards_wait_and_counts_what_lines_lose(
    terminal: Terminal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line_terminal = Terminal(tmp_path / "line")
    ports = (
        port_on(terminal, "board"),
        port_of("line", line_terminal.link, "key_value"),
    )
    settings = settings_of(tmp_path / "data", free_port(), *ports, outbox_bytes_max=65536)
    async with running_bridge(settings) as room:
        await room.wait_for_port("line", "open")
        await room.wait_for_port("sensor", "open")
        await line_terminal.write(b"".join(b"a=%d\n" % n for n in range(1000)))
        await room.wait_until(lambda room: bool(room.port("line")["dropped"]))
        await room.wait_until(lambda room: room.port("line")["frames"] == 1000)
        lost = room.port("line")["dropped"]["outbox_full"]
        assert lost + room.port("line")["readings"] == 1000
        stored = room.status["outbox"]["waiting"]
        # The first frame is still accepted. After that the port is no longer read.
        await terminal.write(board_frame(1))
        await acknowledgements(terminal, 1)
        await terminal.write(board_frame(2) * 100)
        await room.wait_until(lambda room: room.status["outbox"]["waiting"] == stored + 1)
        assert room.port("sensor")["frames"] == 1
    assert caplog.text.count("the outbox is full") == 1
    assert caplog.text.count("readings are dropped") == 1
    line_terminal.unplug()


async def test_an_integer_of_any_length_from_a_board_ends_nothing(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    settings = settings_of(
        terminal.link.parent / "data", subscriber.port, port_on(terminal, "board")
    )
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        content = struct.pack(">BIII", 1, 42, 1, 1) + cbor2.dumps([{0: "a", 2: 10**400}])
        frame = cobs.encode(content + crc_hqx(content, 0xFFFF).to_bytes(2, "big"))
        await terminal.write(b"\x00" + frame + b"\x00" + board_frame(2))
        assert await acknowledgements(terminal, 1) == [2]
        await subscriber.arrival_of(1)
        await room.wait_until(lambda room: room.port("sensor")["damaged"] == {"value": 1})
        assert room.port("sensor")["failures"] == 0

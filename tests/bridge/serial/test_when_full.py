"""Each policy for a full outbox while the broker is away, and at the next start."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.board import acknowledgements, board_frame
from tests.bridge.broker import Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port

ROOM = 65536
LINES = 1000


def lines() -> bytes:
    return b"".join(b"a=%d\n" % number for number in range(LINES))


def kept_in(directory: Path) -> int:
    """Return the number of readings in the outbox of a bridge that has ended.

    Its last commit may have dropped some.
    """
    with closing(sqlite3.connect(directory / "outbox.db")) as outbox:
        return int(outbox.execute("SELECT count(*) FROM readings").fetchone()[0])


async def values_after_restart(
    directory: Path, subscriber: Subscriber, port: Any, count: int
) -> list[int]:
    """Start the bridge again with the broker present, and return the values that the broker
    receives."""
    settings = settings_of(directory, subscriber.port, port, outbox_bytes_max=ROOM)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await subscriber.arrival_of(count)
        await room.wait_until(lambda room: room.status["outbox"]["waiting"] == 0)
    await subscriber.settled()
    return [record["v"] for record in subscriber.records()]


@pytest.mark.parametrize("policy", ["drop_newest", "drop_oldest"])
async def test_a_port_that_drops_keeps_the_oldest_or_the_newest_and_counts_the_others(
    policy: str, subscriber: Subscriber, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    directory = terminal.link.parent / "data"
    port = port_on(terminal, "key_value", when_full=policy)
    settings = settings_of(directory, free_port(), port, outbox_bytes_max=ROOM)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(lines())
        await room.wait_until(lambda room: room.port("sensor")["frames"] == LINES)
        await room.wait_until(
            lambda room: (
                room.port("sensor")["dropping"] is not None
                and room.status["outbox"]["waiting"] + sum(room.port("sensor")["dropped"].values())
                == LINES
                and room.status["outbox"]["bytes"] < ROOM + 4096  # The last commit drops too.
            )
        )
        shown = room.port("sensor")
        assert (shown["when_full"], shown["dropping"]) == (policy, "outbox_full")
    kept = kept_in(directory)
    assert 0 < kept < LINES
    assert caplog.text.count("readings are dropped (outbox_full") == 1
    values = await values_after_restart(directory, subscriber, port, kept)
    expected = range(kept) if policy == "drop_newest" else range(LINES - kept, LINES)
    assert values == list(expected)


async def test_a_port_that_is_not_read_loses_nothing_that_the_line_keeps(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    directory = terminal.link.parent / "data"
    port = port_on(terminal, "key_value", when_full="stop_reading")
    settings = settings_of(directory, free_port(), port, outbox_bytes_max=ROOM)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(lines())
        await room.wait_until(lambda room: room.port("sensor").get("held", False))
        assert room.port("sensor")["dropped"] == {}
        stored = room.port("sensor")["readings"]
        assert room.status["outbox"]["full_by"] == "bytes"
    assert await values_after_restart(directory, subscriber, port, stored) == list(range(stored))


@pytest.mark.parametrize("policy", ["drop_newest", "drop_oldest"])
async def test_frames_of_a_board_whose_readings_are_dropped_stay_accepted(
    policy: str, subscriber: Subscriber, terminal: Terminal
) -> None:
    directory = terminal.link.parent / "data"
    port = port_on(terminal, "board", when_full=policy)
    settings = settings_of(directory, free_port(), port, outbox_bytes_max=ROOM)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        for first in range(1, 601, 20):
            await terminal.write(b"".join(board_frame(n) for n in range(first, first + 20)))
            await acknowledgements(terminal, 20)
        await room.wait_until(
            lambda room: (
                room.status["outbox"]["waiting"] + sum(room.port("sensor")["dropped"].values())
                == 600
            )
        )
        await terminal.write(board_frame(1) + board_frame(600))
        await acknowledgements(terminal, 2)
        await room.wait_until(lambda room: room.port("sensor")["duplicates"] == 2)
    kept = kept_in(directory)
    assert 0 < kept < 600
    await values_after_restart(directory, subscriber, port, kept)
    sequences = [record["sequence"] for record in subscriber.records()]
    expected = range(1, kept + 1) if policy == "drop_newest" else range(601 - kept, 601)
    assert sequences == list(expected)

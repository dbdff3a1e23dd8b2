"""Replay of a recording on a pseudo-terminal, which the bridge reads like a port."""

import asyncio
from pathlib import Path

import pytest
from firmware_bridge.serial.recording import Chunk, UnreadableRecording, head_of, line_of
from firmware_bridge.serial.replaying import LinkTaken, replay_on_terminal

from tests.bridge.broker import Subscriber
from tests.bridge.running import port_of, running_bridge, settings_of

HEAD = head_of("x", "9600 8N1", 0)


async def test_the_bridge_reads_a_replay_whole(subscriber: Subscriber, tmp_path: Path) -> None:
    lines = [HEAD, *(line_of(Chunk(n / 1000, b'{"a":%d}\n' % n)) for n in range(1000))]
    link = tmp_path / "replay"
    replaying = asyncio.create_task(asyncio.to_thread(replay_on_terminal, lines, link, fast=True))
    port = port_of("sensor", link, "json")
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)):
        assert await replaying == sum(len(b'{"a":%d}\n' % n) for n in range(1000))
        await subscriber.arrival_of(1000)
    assert [record["v"] for record in subscriber.records()] == list(range(1000))
    assert not link.is_symlink()


def test_what_is_at_the_link_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(LinkTaken, match="remove it, or name another"):
        replay_on_terminal([HEAD], tmp_path / "link", fast=True)


def test_a_file_that_is_no_recording_is_refused_before_a_reader_is_waited_for(
    tmp_path: Path,
) -> None:
    link = tmp_path / "link"
    with pytest.raises(UnreadableRecording, match="not a recording"):
        replay_on_terminal([b"text\n"], link, fast=True)
    with pytest.raises(UnreadableRecording, match="not a recording"):
        replay_on_terminal([], link, fast=True)
    assert not link.is_symlink()

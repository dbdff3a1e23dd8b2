"""Changes that a client can observe are written first: a killed process does not lose them.

The tests copy the data directory as a kill would leave it, and open the copy.
"""

import shutil
from pathlib import Path

import pytest

from gateway.broker.core.state import State
from gateway.broker.store import journal
from gateway.broker.store.store import Store
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.broker.server.slow_disk import SlowDisk
from tests.peers.mqtt_bytes import PINGREQ, publish, subscribe

PINGRESP = b"\xd0\x00"


def found_after_a_kill(broker: Broker, folder: Path) -> State:
    """Return the state that a start would find if the process were killed now."""
    data_dir = broker.running.reloading.configuration.gateway.data_dir
    shutil.copytree(
        data_dir, folder, ignore=shutil.ignore_patterns("*.sock", "*.lock", "*.partial")
    )
    store = Store(folder)
    try:
        return store.open([], 0.0).recovered.state
    finally:
        store.close(clean=False)


async def test_a_retained_message_at_qos_0_is_written_before_its_client_is_answered_anything(
    start: Start, tmp_path: Path
) -> None:
    broker = await start({}, sys_interval="never")
    client = await log_in(broker, "c")
    for number in range(20):
        client.send(publish("t", b"%d" % number, retain=True) + PINGREQ)
        assert await client.packet() == PINGRESP
        found = found_after_a_kill(broker, tmp_path / str(number))
        assert found.retained["t"].payload == b"%d" % number


async def test_it_is_written_before_its_subscribers_get_it(start: Start, tmp_path: Path) -> None:
    broker = await start({}, sys_interval="never")
    client, watch = await log_in(broker, "c"), await log_in(broker, "w")
    watch.send(subscribe(1, ("t", 0)))
    await watch.packet()
    client.send(publish("t", b"x", retain=True))
    assert (await watch.packet()).endswith(b"x")
    assert "t" in found_after_a_kill(broker, tmp_path / "found").retained


@pytest.mark.parametrize("file_bytes", [journal.FILE_BYTES, 1])
async def test_also_while_a_batch_is_being_committed_that_holds_what_a_client_waits_for(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_bytes: int
) -> None:
    broker = await start({}, sys_interval="never")
    waiting, client = await log_in(broker, "waiting"), await log_in(broker, "c")
    event_loop = broker.running.event_loop
    event_loop.store.journal.file_bytes = file_bytes  # 1 makes the batch begin a new file
    event_loop.store.journal._length = min(event_loop.store.journal._length, file_bytes)
    event_loop.committer.writer._commit_seconds = 1.0  # the disk counts as slow: the thread commits
    with SlowDisk(event_loop.store, monkeypatch) as disk:
        waiting.send(publish("u", b"x", qos=1, packet_id=1))
        await broker.eventually(disk.waiting.is_set)
        client.send(publish("t", b"y", retain=True) + PINGREQ)
        assert await client.packet() == PINGRESP
        found = found_after_a_kill(broker, tmp_path / "found")
        assert found.retained["t"].payload == b"y"
    assert await waiting.packet() == b"\x40\x02\x00\x01"


async def test_a_puback_is_written_before_its_client_is_answered_anything(
    start: Start, tmp_path: Path
) -> None:
    broker = await start({}, sys_interval="never")
    client = await log_in(broker, "c")
    client.send(subscribe(1, ("t", 1)))
    await client.packet()
    client.send(publish("t", b"x", qos=1, packet_id=1))
    packets = [await client.packet(), await client.packet()]
    assert sorted(packet[0] >> 4 for packet in packets) == [3, 4]
    assert found_after_a_kill(broker, tmp_path / "before").sessions["c"].outbound
    client.send(b"\x40\x02\x00\x01" + PINGREQ)
    assert await client.packet() == PINGRESP
    assert not found_after_a_kill(broker, tmp_path / "after").sessions["c"].outbound


async def test_a_tick_that_records_nothing_of_the_kind_writes_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({}, sys_interval="never")
    client = await log_in(broker, "c")
    parts: list[int] = []
    store = broker.running.event_loop.store
    monkeypatch.setattr(store, "write_unsynced", lambda batch, part: parts.append(len(part)))
    for number in range(1, 10):
        client.send(publish("t", b"x", qos=1, packet_id=number))
        await client.packet()
        client.send(publish("t", b"x") + PINGREQ)
        await client.packet()
    assert parts == []

"""Records that were written before their fsync, as a start finds them."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.layout import BLOB_HEADER, BLOB_MAGIC
from gateway.broker.store import unsynced
from gateway.broker.store.store import Store
from gateway.broker.store.unsynced import FILE_NAMES, KEPT_BYTES, unsynced_batches
from gateway.broker.wire.packets import Publish, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness, payloads


def retain(client: Client, topic: str, payload: bytes = b"x") -> None:
    client.send(Publish(topic, payload, 0, True, False, 0))


def write_part(harness: Harness) -> None:
    """Write the records since the last part, as a turn of the event loop does."""
    broker = harness.broker
    assert broker.batch.lazy
    part = broker.take_part(harness.now, harness.time_ms, ClockQuality.UNKNOWN)
    harness.store.write_unsynced(broker.batch.batch_number, part)
    assert not broker.batch.lazy


def begin_commit(harness: Harness) -> None:
    """Seal the batch and write it ahead; no fsync follows."""
    first_sequence = harness.broker.batch.next_sequence
    harness.store.begin(
        first_sequence, harness.broker.seal(harness.now, harness.time_ms, ClockQuality.UNKNOWN).blob
    )
    harness.store.write_ahead()


def kept(harness: Harness) -> list[str]:
    return sorted(harness.broker.state.retained)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(tmp_path)
    yield harness
    harness.close()


@pytest.fixture
def publisher(harness: Harness) -> Client:
    client = harness.connect("p")
    harness.commit()
    return client


def test_parts_of_a_batch_are_found_and_committed_before_anything_else(
    harness: Harness, publisher: Client
) -> None:
    for topic in ("a", "b", "c"):
        retain(publisher, topic)
        write_part(harness)
    retain(publisher, "not written")
    harness.cut()
    assert kept(harness) == ["a", "b", "c"]
    harness.cut()
    assert kept(harness) == ["a", "b", "c"], "from the journal"
    sequences = [blob.first_sequence for blob in harness.recovered.journal.blobs()]
    assert sequences == sorted(set(sequences))


def test_a_batch_that_is_being_committed_is_found_with_the_parts_behind_it(
    harness: Harness, publisher: Client
) -> None:
    retain(publisher, "a")
    write_part(harness)
    retain(publisher, "b")
    begin_commit(harness)
    retain(publisher, "c")
    write_part(harness)
    harness.cut()
    assert kept(harness) == ["a", "b", "c"]


def test_parts_behind_a_batch_that_is_missing_do_not_count(
    harness: Harness, publisher: Client
) -> None:
    retain(publisher, "a")
    write_part(harness)
    retain(publisher, "b")
    begin_commit(harness)
    retain(publisher, "c")
    write_part(harness)
    journal = harness.store.journal
    os.pwrite(journal._descriptor, bytes(len(journal._ahead)), journal._at)
    harness.cut()
    assert kept(harness) == ["a"]


@pytest.mark.parametrize("torn", [0, 1])
def test_what_follows_a_torn_part_does_not_count(
    harness: Harness, publisher: Client, torn: int
) -> None:
    ends = []
    path = next(harness.store.journal.folder / name for name in FILE_NAMES)
    for topic in ("a", "b", "c"):
        retain(publisher, topic)
        write_part(harness)
        file = harness.store._files.unsynced._files[harness.broker.batch.batch_number % 2]
        path = file.path
        ends.append(file.at)
    data = bytearray(path.read_bytes())
    data[ends[torn] - 1] ^= 1
    path.write_bytes(data)
    harness.cut()
    assert kept(harness) == ["a"][:torn]


def test_what_was_committed_since_is_not_applied_once_more(
    harness: Harness, publisher: Client
) -> None:
    retain(publisher, "a")
    write_part(harness)
    retain(publisher, "a", b"")
    harness.commit()
    harness.cut()
    assert kept(harness) == []


def test_an_old_file_that_a_power_cut_brings_back_does_not_count(
    harness: Harness, publisher: Client
) -> None:
    retain(publisher, "a")
    write_part(harness)
    folder = harness.store.journal.folder
    old = {name: (folder / name).read_bytes() for name in FILE_NAMES if (folder / name).exists()}
    harness.store.close(clean=False)
    for name in old:
        (folder / name).unlink()
    harness.boot = b"\x02" * 8
    harness._open()  # another start, which assigns the same numbers to other events
    harness.connect("q")
    while harness.broker.batch.next_sequence < part_in(old).first_sequence:
        harness.connect("r")
    for name, data in old.items():
        (folder / name).write_bytes(data)
    harness.cut()
    assert kept(harness) == []


def part_in(old: dict[str, bytes]) -> Blob:
    (data,) = old.values()
    at = data.index(BLOB_MAGIC)
    names, records = BLOB_HEADER.unpack_from(data, at)[8:10]
    return Blob(data[at : at + BLOB_HEADER.size + names + records + 4])


def test_a_run_that_was_killed_before_its_first_commit_has_lost_nothing(harness: Harness) -> None:
    harness.restart()
    harness.boot = b"\x03" * 8
    harness.store.close(clean=False)
    harness._open()
    client = harness.open_connection()
    client.send_bytes(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01q")
    retain(client, "a")
    write_part(harness)
    harness.boot = b"\x04" * 8
    harness.cut()
    assert kept(harness) == ["a"]


def test_acknowledgements_of_subscribers_are_found(harness: Harness, publisher: Client) -> None:
    client = harness.connect("s")
    client.send(Subscribe(1, [Subscription("t", 1)]))
    harness.commit()
    publisher.send(Publish("t", b"x", 1, False, False, 1))
    harness.commit()
    assert payloads(client.take()) == [b"x"]
    client.send_bytes(b"\x40\x02\x00\x01")
    write_part(harness)
    harness.cut()
    assert not harness.session("s").outbound


def test_on_a_full_disk_the_rest_of_the_batch_is_left_out_and_the_next_is_written(
    harness: Harness, publisher: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    retain(publisher, "a")
    write_part(harness)
    with monkeypatch.context() as patched:
        patched.setattr(unsynced, "pwrite_all", full)
        retain(publisher, "b")
        write_part(harness)
    retain(publisher, "c")
    write_part(harness)
    folder = harness.store.journal.folder
    recovered = unsynced_batches(folder, harness.broker.batch.next_sequence, harness.boot.hex())
    assert [Blob(blob).record_count for blob in recovered] == [2], "published and retained: a"
    harness.commit()
    retain(publisher, "d")
    write_part(harness)
    harness.cut()
    assert kept(harness) == ["a", "b", "c", "d"]


def test_a_file_that_a_large_batch_made_long_becomes_short_again(
    harness: Harness, publisher: Client
) -> None:
    for _ in range(2):
        retain(publisher, "a", b"x" * 300_000)
        write_part(harness)
        harness.commit()
    for _ in range(2):
        retain(publisher, "a", b"x")
        write_part(harness)
        harness.commit()
    sizes = [(harness.store.journal.folder / name).stat().st_size for name in FILE_NAMES]
    assert max(sizes) <= KEPT_BYTES


def test_a_data_directory_without_such_files_starts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.open([], 0.0).recovered.unsynced == []
    store.close(clean=True)

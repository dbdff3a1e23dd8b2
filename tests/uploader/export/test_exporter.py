from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.uploader.main import LogInUse, serve
from gateway.uploader.segments.names import segments_in
from gateway.uploader.segments.signing_key import public_keys_in
from gateway.uploader.settings import BOOTS_KEPT, PAGE_BYTES, SEGMENT_BYTES_MIN
from tests.uploader.journals import UNSYNCHRONISED, Broker
from tests.uploader.stage import Stage, segments_of, until


async def test_every_event_of_the_journal_is_in_the_log_once_and_in_order(stage: Stage) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started(), *(broker.exchanges(100) for _ in range(20))]
    await stage.run_once()
    assert stage.sequences() == list(range(1, broker.last_sequence + 1))
    events = stage.uploaded()[0].events
    assert events[0]["event"] == "broker_started"
    held, released = events[1], events[2]
    assert held["event"] == "message_held"
    assert held["client_id"] == "sensor-7"
    assert held["payload"] == '[{"n":"temperature","u":"Cel","v":1.5}]'
    assert (released["event"], released["matched"]) == ("message_released", 1)


async def test_a_segment_names_its_gateway_and_the_segment_before_it(stage: Stage) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    await stage.run_once()
    stage.journal.blobs.append(broker.exchanges(1))
    await stage.run_once()
    first, second = stage.uploaded()
    assert first.header == {
        "format": "oncegate-session-log",
        "version": 1,
        "gateway": "gw-1",
        "boot": broker.boot,
        "store": broker.store,
        "segment": 1,
        "clock": "synchronised",
        "previous_sha256": None,
    }
    assert second.header["segment"] == 2
    assert second.header["previous_sha256"] == first.name.sha256
    assert (second.name.first_sequence, second.name.last_sequence) == (2, 6)


async def test_every_segment_is_signed_by_the_key_that_the_first_start_made(stage: Stage) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    await stage.run_once()
    stage.journal.blobs.append(broker.exchanges(1))
    await stage.run_once()
    (key,) = public_keys_in(stage.log_dir)
    assert [segment.public_key for segment in stage.uploaded()] == [key, key]


async def test_after_a_lost_key_segments_are_signed_by_a_new_one_and_the_chain_continues(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    await stage.run_once()
    (stage.log_dir / "signing-key").unlink()
    stage.journal.blobs.append(broker.exchanges(1))
    await stage.run_once()
    first, second = stage.uploaded()
    assert [first.public_key, second.public_key] == public_keys_in(stage.log_dir)
    assert first.public_key != second.public_key
    assert second.header["previous_sha256"] == first.name.sha256
    assert any("signs with a new key" in message for message in caplog.messages)


async def test_a_segment_is_sealed_when_it_is_old_enough(stage: Stage) -> None:
    stage.with_settings(seal_after_seconds=0.05)
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    async with stage.running():
        await until(lambda: len(segments_of(stage.uploaded_dir)) == 1)
        stage.journal.blobs.append(broker.exchanges(1))
        await until(lambda: len(segments_of(stage.uploaded_dir)) == 2)
    assert stage.sequences() == [1, 2, 3, 4, 5, 6]


async def test_a_segment_never_exceeds_its_limit_and_a_batch_is_split_between_events(
    stage: Stage,
) -> None:
    stage.with_settings(segment_bytes_max=SEGMENT_BYTES_MIN)
    broker = Broker()
    stage.journal.blobs = [broker.exchanges(5_000)]
    await stage.run_once()
    segments = stage.uploaded()
    assert len(segments) >= 3
    assert stage.sequences() == list(range(1, 25_001))


async def test_events_with_payloads_near_the_line_limit_fill_segments_one_by_one(
    stage: Stage,
) -> None:
    stage.with_settings(segment_bytes_max=SEGMENT_BYTES_MIN)
    broker = Broker()
    stage.journal.blobs = [broker.exchanges(4, payload=b"x" * 900_000)]
    await stage.run_once()
    assert len(stage.uploaded()) == 4
    assert stage.sequences() == list(range(1, 21))


async def test_a_segment_holds_events_of_one_boot_only(stage: Stage) -> None:
    first = Broker(boot="one")
    blobs = [first.started(), first.exchanges(2)]
    second = Broker(boot="two", after=first.last_sequence)
    stage.journal.blobs = [*blobs, second.started(), second.exchanges(2)]
    await stage.run_once()
    segments = stage.uploaded()
    assert [segment.name.boot for segment in segments] == [first.boot, second.boot]
    assert stage.sequences() == list(range(1, second.last_sequence + 1))


async def test_a_segment_has_one_clock_quality(stage: Stage) -> None:
    broker = Broker()
    broker.clock = UNSYNCHRONISED
    early = broker.started()
    broker.clock = ClockQuality.SYNCHRONISED
    stage.journal.blobs = [early, broker.exchanges(1)]
    await stage.run_once()
    assert [s.header["clock"] for s in stage.uploaded()] == ["unsynchronised", "synchronised"]


async def test_a_gap_in_the_journal_shows_between_two_segments(stage: Stage) -> None:
    broker = Broker()
    blobs = [broker.exchanges(2) for _ in range(5)]
    stage.journal.blobs = [*blobs[:2], *blobs[4:]]
    await stage.run_once()
    names = [segment.name for segment in stage.uploaded()]
    assert [(name.first_sequence, name.last_sequence) for name in names] == [(1, 20), (41, 50)]


async def test_a_damaged_blob_is_kept_and_its_events_show_as_a_gap(stage: Stage) -> None:
    broker = Broker()
    blobs = [broker.exchanges(2) for _ in range(3)]
    damaged = blobs[1][:-9] + bytes([blobs[1][-9] ^ 1]) + blobs[1][-8:]
    stage.journal.blobs = [blobs[0], damaged, blobs[2]]
    await stage.run_once()
    names = [segment.name for segment in stage.uploaded()]
    assert [(name.first_sequence, name.last_sequence) for name in names] == [(1, 10), (21, 30)]
    kept = list((stage.log_dir / "damaged").iterdir())
    assert [path.read_bytes() for path in kept] == [damaged]


async def test_a_damaged_blob_larger_than_a_page_does_not_stop_the_export(stage: Stage) -> None:
    broker = Broker()
    large = broker.exchanges(3, payload=b"x" * 600_000)
    stage.journal.blobs = [large[:-1] + bytes([large[-1] ^ 1]), broker.exchanges(1)]
    await stage.run_once()
    assert stage.sequences() == [16, 17, 18, 19, 20]


async def test_a_gap_behind_a_blob_larger_than_a_page_is_passed(stage: Stage) -> None:
    broker = Broker()
    blobs = [broker.exchanges(1, payload=b"x" * 900_000), broker.exchanges(1), broker.exchanges(1)]
    stage.journal.blobs = blobs[:1]
    await stage.run_once()
    stage.journal.blobs = [blobs[0], blobs[2]]
    await stage.run_once()
    assert stage.sequences() == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]


async def test_what_a_crash_left_half_written_is_thrown_away_and_written_again(
    stage: Stage,
) -> None:
    (stage.log_dir / "open").mkdir(parents=True)
    (stage.log_dir / "open" / "00000001.jsonl.zst").write_bytes(b"half a segm")
    broker = Broker()
    stage.journal.blobs = [broker.exchanges(3)]
    await stage.run_once()
    assert stage.sequences() == list(range(1, 16))
    assert not any((stage.log_dir / "open").iterdir())


async def test_a_database_that_was_replaced_is_exported_from_its_beginning(stage: Stage) -> None:
    old = Broker(boot="old", store="old")
    stage.journal.blobs = [old.started(), old.exchanges(10)]
    await stage.run_once()
    new = Broker(boot="new", store="new")
    stage.journal.blobs = [new.started(), new.exchanges(2)]
    await stage.run_once()
    segments = stage.uploaded()
    assert [s.name.first_sequence for s in segments] == [1, 1]
    assert [s.header["store"] for s in segments] == [old.store, new.store]
    assert stage.sequences() == [*range(1, 52), *range(1, 12)]


async def test_a_database_that_lost_its_last_commits_does_not_hide_what_comes_after(
    stage: Stage,
) -> None:
    before = Broker(boot="before")
    kept = [before.started(), before.exchanges(1)]
    stage.journal.blobs = [*kept, before.exchanges(10)]
    await stage.run_once()
    after = Broker(boot="after", after=6)
    stage.journal.blobs = [*kept, after.started(), after.exchanges(1)]
    await stage.run_once()
    assert stage.sequences() == [*range(1, 57), *range(7, 13)]
    stage.journal.blobs.append(after.exchanges(1))
    await stage.run_once()
    assert stage.sequences()[-5:] == [13, 14, 15, 16, 17]


async def test_a_page_that_holds_several_boots_is_exported_whole(stage: Stage) -> None:
    last = 0
    for number in range(5):
        broker = Broker(boot=f"boot {number}", after=last)
        stage.journal.blobs += [broker.started(), broker.exchanges(1)]
        last = broker.last_sequence
    await stage.run_once()
    assert stage.sequences() == list(range(1, last + 1))
    assert len(stage.uploaded()) == 5


async def test_a_journal_that_cannot_be_read_is_tried_again(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    stage.journal.error = OSError(errno.EIO, os.strerror(errno.EIO))
    async with stage.running():
        await until(lambda: os.strerror(errno.EIO) in caplog.text)
        stage.journal.error = None
        await until(lambda: any((stage.log_dir / "open").glob("*.zst")))
    assert stage.sequences() == [1]
    assert caplog.text.count(os.strerror(errno.EIO)) == 1


async def test_a_second_process_on_the_same_log_is_refused_with_the_first_ones_number(
    stage: Stage,
) -> None:
    async with stage.running() as first:
        await until((stage.log_dir / "lock").exists)
        with pytest.raises(LogInUse, match=f"process {os.getpid()} already exports"):
            await serve(stage.settings, stage.journal, asyncio.Event())
        assert not first.done()


async def test_the_log_continues_after_everything_was_uploaded_and_pruned(stage: Stage) -> None:
    stage.with_settings(sent_bytes_keep=0)
    broker = Broker()
    for _ in range(3):
        stage.journal.blobs = [broker.exchanges(1)]
        await stage.run_once()
        assert segments_in(stage.log_dir / "sent") == []
    assert stage.sequences() == list(range(1, 16))
    assert len(stage.uploaded()) == 3


async def test_a_log_directory_that_cannot_be_made_is_an_error_that_names_it(
    stage: Stage, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("a file")
    with pytest.raises(FileExistsError, match="log"):
        await stage.run_once()


async def test_a_boot_that_begins_where_a_page_of_the_journal_ends_is_exported(
    stage: Stage,
) -> None:
    first = Broker()
    stage.journal.blobs = [first.exchanges(1, payload=b"x" * PAGE_BYTES)]
    await stage.run_once()
    second = Broker(boot="second boot", after=first.last_sequence)
    stage.journal.blobs.append(second.started())
    await stage.run_once()
    assert stage.sequences() == list(range(1, second.last_sequence + 1))


async def test_a_journal_of_more_boots_than_are_remembered_is_exported_once(stage: Stage) -> None:
    last_sequence = 0
    for number in range(BOOTS_KEPT + 2):
        broker = Broker(boot=f"boot {number}", after=last_sequence)
        stage.journal.blobs.append(broker.started())
        last_sequence = broker.last_sequence
    await stage.run_once()
    await stage.run_once()
    assert stage.sequences() == list(range(1, last_sequence + 1))

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.uploader.export.journal_pages import JournalPages
from gateway.uploader.settings import DAMAGED_FILES_MAX
from tests.uploader.journals import Broker, MemoryJournal


def damaged(blob: bytes) -> bytes:
    return blob[:-1] + bytes([blob[-1] ^ 1])


def test_batches_come_in_order_and_those_that_were_taken_do_not_come_again(tmp_path: Path) -> None:
    broker = Broker()
    pages = JournalPages(MemoryJournal([broker.exchanges(2) for _ in range(3)]), tmp_path)
    assert [batch.first_sequence for batch in pages.after(0)] == [1, 11, 21]
    assert [batch.first_sequence for batch in pages.after(10)] == [11, 21]
    assert [batch.first_sequence for batch in pages.after(15)] == [11, 21]
    assert pages.after(30) == []


def test_headers_are_read_of_batches_whose_events_are_damaged_or_not(tmp_path: Path) -> None:
    first, second = Broker(boot="one"), Broker(boot="two", after=10)
    pages = JournalPages(MemoryJournal([first.exchanges(2), second.exchanges(2)]), tmp_path)
    headers = pages.headers_after(0)
    assert [header.boot for header in headers] == [first.boot, second.boot]
    assert [header.last_sequence for header in headers] == [10, 20]


def test_a_damaged_blob_is_kept_and_logged_once_however_often_it_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker()
    bad = damaged(broker.exchanges(2))
    pages = JournalPages(MemoryJournal([bad, broker.exchanges(1)]), tmp_path)
    for _ in range(3):
        assert [batch.first_sequence for batch in pages.after(0)] == [11]
    (kept,) = (tmp_path / "damaged").iterdir()
    assert kept.read_bytes() == bad
    assert caplog.text.count("a blob of the journal is damaged") == 1


def test_of_many_damaged_blobs_a_bounded_number_is_kept(tmp_path: Path) -> None:
    broker = Broker()
    blobs = [damaged(broker.exchanges(1)) for _ in range(DAMAGED_FILES_MAX + 4)]
    assert JournalPages(MemoryJournal(blobs), tmp_path).after(0) == []
    assert len(list((tmp_path / "damaged").iterdir())) == DAMAGED_FILES_MAX

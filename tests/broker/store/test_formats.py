"""Formats of the data directory: older ones are migrated, newer ones refused."""

import sqlite3
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from gateway.broker.core.records import layout
from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store.database import DATABASE_NAME, StoreUnavailable
from gateway.broker.store.formats import FORMAT, OtherFormat, format_of
from gateway.broker.store.journal_files import HEADER_BYTES
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.core.harness import Harness
from tests.broker.store.data_directories import made
from tests.broker.store.journal_blobs import blob_of
from tests.broker.store.journal_damage import frames_in, newest_file


def contents(data_dir: Path) -> dict[str, bytes]:
    """Return all files of a data directory, except those that SQLite creates on reading."""
    return {
        str(path.relative_to(data_dir)): path.read_bytes()
        for path in sorted(data_dir.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".lock"))
    }


def set_format(data_dir: Path, value: str) -> None:
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (value,))


def rewrite_header(path: Path, magic: bytes) -> None:
    head = magic + path.read_bytes()[4 : HEADER_BYTES - 4]
    with path.open("r+b") as file:
        file.write(head + layout.CRC.pack(crc32(head)))


def refusal_of(data_dir: Path) -> str:
    before = contents(data_dir)
    with pytest.raises(StoreUnavailable) as refusal:
        Harness(data_dir)
    assert contents(data_dir) == before
    assert not (data_dir / "damaged").exists()
    return str(refusal.value)


def test_a_new_database_names_the_format_that_is_written(tmp_path: Path) -> None:
    made(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        assert format_of(connection) == str(FORMAT)


@pytest.mark.parametrize("found", [str(FORMAT + 1), "99", "of the future"])
def test_a_database_of_a_later_format_is_refused_in_a_sentence_and_left_alone(
    tmp_path: Path, found: str
) -> None:
    made(tmp_path)
    set_format(tmp_path, found)
    sentence = refusal_of(tmp_path)
    assert f"broker.db has format {found}" in sentence
    assert f"understands up to {FORMAT}: start the newer version again" in sentence


def test_a_journal_file_of_a_later_format_is_refused_in_a_sentence_and_left_alone(
    tmp_path: Path,
) -> None:
    made(tmp_path)
    rewrite_header(newest_file(tmp_path), b"OGF2")
    sentence = refusal_of(tmp_path)
    assert ".ogj has format OGF2, this version of Oncegate understands OGF1" in sentence


def test_a_magic_that_the_medium_changed_is_damage_and_no_later_format(tmp_path: Path) -> None:
    made(tmp_path)
    with newest_file(tmp_path).open("r+b") as file:
        file.write(b"OGF3")
    harness = Harness(tmp_path)
    assert harness.recovery is StartKind.SALVAGED
    assert "later" in harness.broker.state.sessions
    harness.close()


def test_a_blob_of_a_later_format_is_refused_in_a_sentence_and_never_skipped(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path)
    harness.connect("c")
    next_sequence = harness.broker.batch.next_sequence
    blob = blob_of(next_sequence)
    body = b"OGJ9" + blob[4:-4]
    harness.store.journal.append(next_sequence, body + layout.CRC.pack(crc32(body)))
    harness.close()
    files = len(frames_in(tmp_path))
    with pytest.raises(StoreUnavailable, match="has format OGJ9, this version of Oncegate"):
        Harness(tmp_path)
    assert len(frames_in_any(tmp_path)) == files
    # The export also waits for a version that supports the format.
    assert JournalReader(tmp_path).blobs_after(0, 1 << 20) == []


def frames_in_any(data_dir: Path) -> list[Path]:
    return [path for path, _, _ in frames_in(data_dir)]


def test_an_error_of_another_format_is_one_of_the_system() -> None:
    # Therefore the command line, the exporter and the audit print one line.
    assert issubclass(OtherFormat, OSError)

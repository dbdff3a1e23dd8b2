"""Formats of the data directory: older ones are brought up to date, newer ones refused."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from gateway.core.records import layout
from gateway.core.records.kinds import StartKind
from gateway.store import migration
from gateway.store.database import DATABASE_NAME, RUNNING_NAME, StoreUnavailable
from gateway.store.formats import FORMAT, OtherFormat, format_of
from gateway.store.journal_files import FOLDER_NAME, HEADER_BYTES, journal_files
from gateway.store.journal_reader import JournalReader
from tests.core.harness import Harness
from tests.store.journal_damage import frames_in, newest_file
from tests.store.test_journal import blob_of

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[2]


def made(data_dir: Path) -> None:
    harness = Harness(data_dir)
    harness.subscriber("s", "t", 1)
    harness.checkpoint()
    harness.connect("later")
    harness.close()


def golden(number: int, directory: Path) -> Path:
    """A copy of a golden data directory."""
    with tarfile.open(GOLDEN / f"{number}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / "data"


def contents(data_dir: Path) -> dict[str, bytes]:
    """Everything of a data directory but what a look at SQLite's files makes."""
    return {
        str(path.relative_to(data_dir)): path.read_bytes()
        for path in sorted(data_dir.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".lock"))
    }


def set_format(data_dir: Path, value: str) -> None:
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (value,))


def overwrite_page(data_dir: Path, name: str, byte: bytes) -> None:
    """Damage the first page of a table or an index."""
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    descriptor = os.open(data_dir / DATABASE_NAME, os.O_RDWR)
    os.pwrite(descriptor, byte * size, (root - 1) * size)
    os.close(descriptor)


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
    # The export waits for the version that knows it, too.
    assert JournalReader(tmp_path).blobs_after(0, 1 << 20) == []


def frames_in_any(data_dir: Path) -> list[Path]:
    return [path for path, _, _ in frames_in(data_dir)]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_migration_that_is_cut_short_anywhere_is_done_again(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads((GOLDEN / f"{number}.json").read_text())
    steps = 0
    while True:
        data = golden(number, tmp_path / str(steps))
        left = steps

        def counted(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

        def cut_at(function: object) -> object:
            def stepping(*arguments: object, **named: object) -> object:
                counted()
                result = function(*arguments, **named)  # type: ignore[operator]
                counted()
                return result

            return stepping

        with monkeypatch.context() as patch:
            for name in ("_write_file", "_add_columns_of_5_0", "fsync_folder"):
                patch.setattr(migration, name, cut_at(getattr(migration, name)))
            patch.setattr(Path, "rename", cut_at(Path.rename))
            try:
                Harness(data).close()
                was_cut = False
            except KeyboardInterrupt:
                was_cut = True
        harness = Harness(data)
        assert harness.damage == [], steps
        assert set(expected["subscribed"]) <= set(harness.broker.state.sessions)
        assert set(harness.broker.state.retained) == set(expected["retained"])
        harness.close()
        shutil.rmtree(tmp_path / str(steps))
        if not was_cut:
            break
        steps += 1
    assert steps > 4


def test_rows_that_a_version_without_the_table_went_on_without_are_kept_and_told(
    tmp_path: Path,
) -> None:
    data = golden(3, tmp_path)
    other = tmp_path / "other"
    made(other)
    shutil.copytree(other / FOLDER_NAME, data / FOLDER_NAME)
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert any("were not applied" in told for told in harness.damage)
    harness.close()
    with closing(sqlite3.connect(data / DATABASE_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM journal_not_applied").fetchone()[0] == 45
    again = Harness(data)
    assert not any("were not applied" in told for told in again.damage)
    again.close()


def test_the_journal_of_a_damaged_database_of_an_earlier_format_is_saved_with_it(
    tmp_path: Path,
) -> None:
    data = golden(3, tmp_path)
    overwrite_page(data, "queue_message", b"\xff")
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert {"latecomer", "away", "busy", "owned"} <= set(harness.broker.state.sessions)
    assert journal_files(data / FOLDER_NAME)[0].first_sequence == 1
    harness.close()


def test_a_damaged_list_of_migrations_is_found_by_the_start_that_needs_it(tmp_path: Path) -> None:
    data = golden(4, tmp_path)
    # As after a clean stop: otherwise the look at every page finds it before.
    (data / RUNNING_NAME).unlink(missing_ok=True)
    overwrite_page(data, "_sqlite_migrations", b"\0")
    harness = Harness(data)
    assert harness.recovery is StartKind.SALVAGED
    assert any("it cannot be loaded" in told for told in harness.damage)
    assert {"latecomer", "away", "busy", "owned"} <= set(harness.broker.state.sessions)
    harness.close()


def test_an_error_of_another_format_is_one_of_the_system() -> None:
    # The command line, the exporter and the audit show it as one line.
    assert issubclass(OtherFormat, OSError)


START = """
import sys
import gateway.server.main
from pathlib import Path
from tests.core.harness import Harness
Harness(Path(sys.argv[1])).close()
print("sqlite_utils" in sys.modules)
"""


def test_only_a_start_that_migrates_takes_memory_for_it(tmp_path: Path) -> None:
    loaded = [
        subprocess.run(
            [sys.executable, "-c", START, tmp_path / "data"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert loaded == ["True", "False"]

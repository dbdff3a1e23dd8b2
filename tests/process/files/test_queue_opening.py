"""The file of a queue opens in whatever state it is, or the error is one line with the fix."""

import os
import sqlite3
from pathlib import Path

import pytest

from gateway.process.files.queue_database import NoRoom
from gateway.process.files.queue_opening import QueueError, QueueNames, open_queue
from tests.process.files.words import NewerWords, OlderWords, Words
from tests.small_disk import small_disk

NAMES = QueueNames("the dictionary", "printer", "words")


def fill(words: Words, damaged: sqlite3.Connection | None) -> int:
    words.set_property("word", "first" if damaged is None else "salvaged")
    return 7


def opened(path: Path) -> Words:
    return open_queue(path, NAMES, Words, fill)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


def test_a_missing_file_is_made_with_its_first_rows_and_is_then_left_as_it_is(path: Path) -> None:
    words = opened(path)
    assert words.last == "first"
    words.write("kept")
    words.commit()
    words.close()
    again = opened(path)
    assert again.last == "kept"
    again.close()


def test_a_damaged_file_is_set_aside_and_logged_with_what_was_salvaged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(path).close()
    path.write_bytes(b"\xff" * path.stat().st_size)
    words = opened(path)
    assert words.last == "salvaged"
    words.close()
    assert len(list(path.parent.glob("words.db.damaged-*"))) == 1
    assert "the dictionary was damaged" in caplog.text
    assert "7 words salvaged" in caplog.text


def test_a_newer_file_stays_as_it_is_and_the_error_has_the_fix(path: Path) -> None:
    NewerWords(path).close()
    before = path.read_bytes()
    with pytest.raises(QueueError) as error:
        opened(path)
    assert str(error.value) == (
        f"the dictionary {path} was written by a newer version of the printer: its format is not "
        "supported (found m001_properties, m002_more, expected m001_properties); nothing was "
        "changed; install that version again"
    )
    assert path.read_bytes() == before


def test_an_older_file_stays_as_it_is_and_the_error_has_the_fix(path: Path) -> None:
    OlderWords(path).close()
    before = path.read_bytes()
    with pytest.raises(QueueError) as error:
        opened(path)
    assert str(error.value) == (
        f"the dictionary {path} was written by a development version before 0.1.0: its format is "
        "not supported (found m001_old, m002_old, expected m001_properties); nothing was changed; "
        "move the file away when that version has delivered its words, or delete it"
    )
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_what_is_no_file_is_not_replaced(path: Path) -> None:
    path.mkdir()
    with pytest.raises(QueueError, match=r"cannot open the dictionary .*: .*; check the disk"):
        opened(path)
    assert path.is_dir()


def test_a_disk_that_refuses_a_write_is_named_with_the_fix(path: Path) -> None:
    error = str(NAMES.cannot_write(path, sqlite3.OperationalError("disk I/O error")))
    assert error.startswith(f"cannot write the dictionary {path}: disk I/O error; ")
    assert error.endswith("then start the printer again")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    with small_disk(tmp_path / "d", 4 << 20) as disk:
        opened(disk.folder / "words.db").close()
        (disk.folder / "words.db").unlink()
        disk.fill()
        with pytest.raises(NoRoom):
            opened(disk.folder / "words.db")

"""A full disk and a failing disk are distinguished, in errors of the system and of SQLite."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.broker.store.no_room import NoRoom, lacks_room, no_room_of, rows_lack_room


@pytest.fixture
def full(tmp_path: Path) -> sqlite3.Error:
    """Return the error of a database that must not grow by another page."""
    with closing(sqlite3.connect(tmp_path / "small.db")) as connection:
        connection.execute("CREATE TABLE rows (value BLOB)")
        connection.execute("PRAGMA max_page_count=3")
        with pytest.raises(sqlite3.Error, match="full") as error:
            connection.execute("INSERT INTO rows VALUES (zeroblob(100000))")
    return error.value


def test_a_database_without_room_lacks_room(full: sqlite3.Error) -> None:
    assert rows_lack_room(full)
    assert lacks_room(full)


def test_another_error_of_a_database_does_not(tmp_path: Path) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "a.db")) as connection,
        pytest.raises(sqlite3.Error) as error,
    ):
        connection.execute("SELECT * FROM missing")
    assert not rows_lack_room(error.value)
    assert not lacks_room(error.value)
    assert not rows_lack_room(sqlite3.Error("without a code"))


@pytest.mark.parametrize(
    ("number", "is_full"),
    [(errno.ENOSPC, True), (errno.EIO, False), (errno.EROFS, False), (errno.EACCES, False)],
)
def test_an_error_of_the_system_lacks_room_where_the_disk_is_full(
    number: int, is_full: bool
) -> None:
    assert lacks_room(OSError(number, "words")) is is_full


def test_what_led_to_an_error_counts_as_well(full: sqlite3.Error) -> None:
    outer = RuntimeError("a start failed")
    outer.__cause__ = RuntimeError("because")
    assert not lacks_room(outer)
    outer.__cause__.__cause__ = full
    assert lacks_room(outer)
    assert not lacks_room(None)


def test_an_error_that_may_be_tried_again_keeps_number_text_and_file() -> None:
    error = no_room_of(OSError(errno.ENOSPC, "No space left on device", "a/file"))
    assert isinstance(error, NoRoom)
    assert (error.errno, error.strerror, error.filename) == (
        errno.ENOSPC,
        "No space left on device",
        "a/file",
    )
    assert lacks_room(error)

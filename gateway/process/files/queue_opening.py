"""Opens the database file of a queue. A damaged file never prevents a program from starting.

A damaged file is renamed to a name with a timestamp, and its readable contents are copied to a new
file. A power cut during this repair does no harm (`gateway.process.files.database_file`).
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.process.files.damaged_database import open_damaged
from gateway.process.files.database_file import finish_replacement, replace_database, rewrite_wal
from gateway.process.files.disk_errors import line_of
from gateway.process.files.disk_space import lacks_room
from gateway.process.files.queue_database import Database, NoRoom, OtherFormat
from gateway.process.files.salvage import UNREADABLE, is_damage, lengthen_emptied

logger = logging.getLogger(__name__)


class QueueError(RuntimeError):
    """Error raised if a queue cannot be read, written or locked.

    The message explains how to fix the problem.
    """


@dataclass(frozen=True, slots=True)
class QueueNames:
    """The names of a queue, its program and its contents, for error messages and the log."""

    queue: str
    """The name of the queue, as in "cannot open the outbox"."""
    program: str
    """The name of the program that owns the queue."""
    contents: str
    """The name of the queue's contents in the plural, such as "readings"."""

    def cannot_write(self, path: Path, error: sqlite3.Error) -> QueueError:
        """Return the exception that the caller raises if the queue's file cannot be written."""
        return QueueError(
            f"cannot write {self.queue} {path}: {error}; "
            f"free space on the disk or replace it, then start the {self.program} again"
        )

    def other_format(self, path: Path, other: OtherFormat) -> QueueError:
        """Return the exception for a file in a format that this version does not support."""
        if other.is_newer:
            writer, fix = f"a newer version of the {self.program}", "install that version again"
        else:
            writer = "a development version before 0.1.0"
            fix = (
                f"move the file away when that version has delivered its {self.contents}, "
                "or delete it"
            )
        return QueueError(
            f"{self.queue} {path} was written by {writer}: its format is not supported "
            f"({other}); nothing was changed; {fix}"
        )


def open_queue(
    path: Path,
    names: QueueNames,
    open_database: Callable[[Path], Database],
    fill: Callable[[Database, sqlite3.Connection | None], int],
) -> Database:
    """Open a queue's file. If it is damaged or missing, replace it with a new file first.

    Args:
        path: path of the file.
        names: how error messages and the log refer to the queue.
        open_database: function that opens the file, or creates it if it does not exist.
        fill: function that writes the first rows of a new file within a transaction. If the old
            file is damaged, `fill` copies its readable contents. It returns the number of copied
            items.

    Raises:
        NoRoom: if the disk is full.
        QueueError: if the queue cannot be opened or replaced, or has another format. A file
            in another format is not changed.
    """

    def replace(damage: Exception | None) -> None:
        _replace(path, names, open_database, fill, damage)

    try:
        return _open_or_replace(path, open_database, replace)
    except OtherFormat as other:
        raise names.other_format(path, other) from None
    except (sqlite3.Error, OSError) as error:
        if lacks_room(error):
            raise NoRoom(line_of(error)) from error
        raise QueueError(
            f"cannot open {names.queue} {path}: {line_of(error)}; "
            "check the disk and the directory's rights"
        ) from error


def _open_or_replace(
    path: Path,
    open_database: Callable[[Path], Database],
    replace: Callable[[Exception | None], None],
) -> Database:
    finish_replacement(path)
    if not path.exists():
        replace(None)
    lengthen_emptied(path)
    rewrite_wal(path)
    try:
        return open_database(path)
    except UNREADABLE as error:
        if not is_damage(error):
            raise
        replace(error)
        return open_database(path)


def _replace(
    path: Path,
    names: QueueNames,
    open_database: Callable[[Path], Database],
    fill: Callable[[Database, sqlite3.Connection | None], int],
    damage: Exception | None,
) -> None:
    """Replace a damaged or missing file with a new file. The repair of a damaged file is logged."""
    count = 0

    def make(new: Path) -> None:
        nonlocal count
        with contextlib.closing(open_database(new)) as database:
            database.begin()
            if damage is None:
                fill(database, None)
            else:
                with open_damaged(path, database.definitions) as damaged:
                    count = fill(database, damaged)
            database.commit()

    aside = replace_database(path, make)
    if damage is not None:
        logger.error(
            "%s was damaged (%s): %d %s salvaged, the old file is kept as %s",
            names.queue,
            damage,
            count,
            names.contents,
            aside,
        )

"""The migrations of the outbox's tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN, applied_migrations_of
from firmware_bridge.outbox.schema import MIGRATIONS, migrate
from sqlite_utils import Database


def test_the_migrations_are_those_that_a_start_knows_without_loading_them() -> None:
    pending = MIGRATIONS.pending(Database(memory=True))
    assert tuple(each.name for each in pending) == MIGRATIONS_KNOWN


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "outbox.db", isolation_level=None)) as connection:
        migrate(connection)
        tables = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
        migrate(connection)
        again = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
        assert again == tables
        assert applied_migrations_of(connection) == MIGRATIONS_KNOWN

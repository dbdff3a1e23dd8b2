"""The supported formats of the outbox's database."""

import sqlite3
from contextlib import closing

from firmware_bridge.outbox.formats import COLUMNS, MIGRATIONS_KNOWN
from firmware_bridge.outbox.schema import MIGRATIONS, migrate
from sqlite_utils import Database


def test_the_migrations_are_those_that_a_start_knows_without_loading_them() -> None:
    pending = MIGRATIONS.pending(Database(memory=True))
    assert tuple(each.name for each in pending) == MIGRATIONS_KNOWN


def test_the_columns_are_those_that_the_migrations_create() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection)
        for table, columns in COLUMNS.items():
            found = connection.execute(f"PRAGMA table_info({table})")
            assert tuple(row[1] for row in found) == columns

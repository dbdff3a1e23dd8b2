"""The formats of the uplink's file that this version can read."""

import sqlite3
from pathlib import Path

from gateway.process.files.queue_database import applied_migrations_of
from gateway.uplink.formats import COLUMNS, MIGRATION_SET, MIGRATIONS_KNOWN
from gateway.uplink.schema import migrate


def test_a_file_lists_the_migrations_that_were_applied(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "u.db", isolation_level=None)
    assert applied_migrations_of(connection, MIGRATION_SET) == ()
    migrate(connection)
    assert applied_migrations_of(connection, MIGRATION_SET) == MIGRATIONS_KNOWN
    connection.close()


def test_the_columns_are_those_that_the_migrations_create(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "u.db", isolation_level=None)
    migrate(connection)
    for table, columns in COLUMNS.items():
        found = connection.execute(f"PRAGMA table_info({table})")
        assert tuple(row[1] for row in found) == columns
    connection.close()

"""The migrations of the outbox's tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from firmware_bridge.outbox.formats import MIGRATION_SET, MIGRATIONS_KNOWN
from firmware_bridge.outbox.schema import migrate

from gateway.process.files.queue_database import applied_migrations_of


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "outbox.db", isolation_level=None)) as connection:
        migrate(connection)
        tables = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
        migrate(connection)
        again = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
        assert again == tables
        assert applied_migrations_of(connection, MIGRATION_SET) == MIGRATIONS_KNOWN

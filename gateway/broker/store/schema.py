"""The database tables, created and migrated by sqlite-utils (docs/formats/journal.md).

Existing definitions are never changed. To change the schema, add a migration at the end, which
updates databases of earlier releases, and increment the format in `formats`.

A table whose key is not a single integer is WITHOUT ROWID, so that it has one B-tree instead of
two. This module is imported only when tables must be created or changed, because sqlite-utils takes
3 MB of memory.
"""

import sqlite3

from gateway.broker.store.tables import STATEMENTS
from gateway.process.files.tables import Database, Migrations

migrations = Migrations("oncegate-broker")


@migrations()
def m001_journal_and_state(db: Database) -> None:
    """Create the tables and indexes of the first schema."""
    for statement in STATEMENTS:
        db.execute(statement)


def migrate(connection: sqlite3.Connection) -> None:
    """Create the tables, or migrate them to the current version."""
    migrations.apply(Database(connection))

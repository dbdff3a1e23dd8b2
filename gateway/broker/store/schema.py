"""The database tables, created and migrated by sqlite-utils (docs/formats/journal.md).

Existing definitions are never changed. To change the schema, add a migration at the end, which
updates databases of earlier releases, and increment the format in `formats`.

A table whose key is not a single integer is WITHOUT ROWID, so that it has one B-tree instead of
two. This module is imported only when tables must be created or changed, because sqlite-utils takes
3 MB of memory.
"""

import sqlite3

from gateway.process.files.tables import Database, Migrations

migrations = Migrations("oncegate-broker")


@migrations()
def m001_journal_and_state(db: Database) -> None:
    """Create the tables and indexes of the first schema."""
    for statement in _FIRST:
        db.execute(statement)


_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # `username` is NULL for a client without a user.
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, client_id TEXT NOT NULL,"
    " protocol INTEGER NOT NULL, first_position INTEGER NOT NULL,"
    " next_position INTEGER NOT NULL, last_packet_id INTEGER NOT NULL,"
    " closed_ms INTEGER NOT NULL, expiry INTEGER NOT NULL, username TEXT)",
    "CREATE TABLE subscriptions (session INTEGER NOT NULL, filter TEXT NOT NULL,"
    " options INTEGER NOT NULL, identifier INTEGER NOT NULL,"
    " PRIMARY KEY (session, filter)) WITHOUT ROWID",
    "CREATE TABLE messages (number INTEGER PRIMARY KEY, topic TEXT NOT NULL,"
    " payload BLOB NOT NULL, flags INTEGER NOT NULL, properties BLOB)",
    "CREATE TABLE inbound (session INTEGER NOT NULL, packet_id INTEGER NOT NULL,"
    " message INTEGER NOT NULL, PRIMARY KEY (session, packet_id)) WITHOUT ROWID",
    "CREATE TABLE outbound (session INTEGER NOT NULL, packet_id INTEGER NOT NULL,"
    " message INTEGER NOT NULL, flags INTEGER NOT NULL, position INTEGER NOT NULL,"
    " state INTEGER NOT NULL, PRIMARY KEY (session, packet_id)) WITHOUT ROWID",
    "CREATE TABLE queue (session INTEGER NOT NULL, position INTEGER NOT NULL,"
    " message INTEGER NOT NULL, flags INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " PRIMARY KEY (session, position)) WITHOUT ROWID",
    # `owner` is the user whose quota the message uses, and `source` its publisher. NULL: unknown.
    "CREATE TABLE retained (topic TEXT PRIMARY KEY, message INTEGER NOT NULL, owner TEXT,"
    " source TEXT) WITHOUT ROWID",
    "CREATE TABLE wills (session INTEGER PRIMARY KEY, client_id TEXT NOT NULL,"
    " topic TEXT NOT NULL, payload BLOB NOT NULL, flags INTEGER NOT NULL,"
    " delay INTEGER NOT NULL, expiry INTEGER NOT NULL, properties BLOB NOT NULL)",
    # A message may be removed once nothing refers to it. Message numbers grow, so new entries are
    # appended to each index.
    "CREATE INDEX inbound_message ON inbound (message)",
    "CREATE INDEX outbound_message ON outbound (message)",
    "CREATE INDEX queue_message ON queue (message)",
    "CREATE INDEX retained_message ON retained (message)",
)


def migrate(connection: sqlite3.Connection) -> None:
    """Create the tables, or migrate them to the current version."""
    migrations.apply(Database(connection))

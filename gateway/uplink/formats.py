"""Which formats of the uplink's database are understood.

A format is the list of the migrations that were applied to the file (`schema.py`).
"""

import sqlite3

MIGRATION_SET = "uplink"
MIGRATIONS_KNOWN = ("m001_messages_received_properties",)


def applied_migrations_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the names in the order in which they were applied, none for a new file."""
    table = "SELECT 1 FROM sqlite_schema WHERE name = '_sqlite_migrations'"
    if connection.execute(table).fetchone() is None:
        return ()
    rows = connection.execute(
        "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid",
        (MIGRATION_SET,),
    )
    return tuple(name for (name,) in rows)

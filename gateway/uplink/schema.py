"""Database tables of the uplink, created and migrated by sqlite-utils (docs/formats/uplink.md).

From the first release on, a migration never changes. For a new version of the tables, a migration
is appended, and its name is added to `formats.py`. This module is imported only if a database must
be created or migrated, because sqlite-utils takes 3 MB of memory.
"""

import sqlite3

from gateway.process.files.tables import Database, Migrations
from gateway.uplink.formats import MIGRATION_SET

MIGRATIONS = Migrations(MIGRATION_SET)


@MIGRATIONS()
def m001_messages_received_properties(database: Database) -> None:
    """Create the tables of version 1."""
    for name in ("messages_out", "messages_in"):
        # Columns that are read for unsent rows come before columns with long values.
        database.table(name).create(
            {
                "number": int,
                "packet_id": int,
                "released": int,
                "qos": int,
                "retain": int,
                "expires_at": float,
                "topic": str,
                "properties": bytes,
                "payload": bytes,
            },
            pk="number",
            not_null={"released", "qos", "retain", "topic", "properties", "payload"},
            defaults={"released": 0},
            strict=True,
        )
    database.table("received").create(
        {"side": int, "packet_id": int}, pk=("side", "packet_id"), strict=True
    )
    database.table("properties").create(
        {"name": str, "value": str}, pk="name", not_null={"value"}, strict=True
    )


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the tables to the current version."""
    MIGRATIONS.apply(Database(connection))

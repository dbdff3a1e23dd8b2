"""Creates and migrates the tables of the outbox, with sqlite-utils.

| table | row |
|---|---|
| readings | one publication: `number` in order of arrival, `packet_id` once an exchange has begun,
  `released` 1 after PUBREC, `retain` 1 if the PUBLISH is retained, `arrived` in seconds of the
  outbox's clock (`ageing.py`), `gives_way_of` the port whose oldest readings may be dropped; the
  row is deleted after PUBCOMP |
| board_frames | digests of 64 frames of one start of one board (`board_start.py`); `used` orders
  the rows by their latest use; rows older than the latest 1,024 frames of a start are deleted |
| board_starts | the number of starts of a board with this boot number |
| board_floors | summary of deleted rows in board_starts: for boot numbers up to `boot`, this device
  had at most `starts` starts each |
| kinds | the data type of a quantity of a port: number, text or boolean; `number` rises with each
  new quantity, and only the newest 8,192 rows are kept |
| properties | `starts` (how often the bridge has started with this database), `session` (the name
  of the bridge's session at the broker), `machine` (the machine on which the session began) |

From the first release on, a migration is never changed. For a new version of the tables, a
migration is appended, a database is added to tests/bridge/golden, and the migration's name is added
to `formats.py`. This module is only loaded if a database must be created or migrated, because
sqlite-utils takes three MB of memory.
"""

import sqlite3

from firmware_bridge.outbox.formats import MIGRATION_SET
from gateway.process.files.tables import Database, Migrations

MIGRATIONS = Migrations(MIGRATION_SET)


@MIGRATIONS()
def m001_outbox(database: Database) -> None:
    """Create the tables of version 1."""
    _create_readings(database)
    _create_boards(database)
    _create_kinds(database)
    database.table("properties").create(
        {"name": str, "value": str}, pk="name", not_null={"value"}, strict=True
    )


def _create_readings(database: Database) -> None:
    database.table("readings").create(
        {
            "number": int,
            "topic": str,
            "payload": bytes,
            "packet_id": int,
            "released": int,
            "retain": int,
            "arrived": int,
            "gives_way_of": str,
        },
        pk="number",
        not_null={"topic", "payload", "released", "retain", "arrived"},
        defaults={"released": 0, "retain": 0, "arrived": 0},
        strict=True,
    )


def _create_boards(database: Database) -> None:
    database.table("board_frames").create(
        {
            "device": int,
            "boot": int,
            "repeat": int,
            "block": int,
            "digests": bytes,
            "used": int,
        },
        pk=("device", "boot", "repeat", "block"),
        not_null={"digests", "used"},
        strict=True,
    )
    database.table("board_starts").create(
        {"device": int, "boot": int, "starts": int},
        pk=("device", "boot"),
        not_null={"starts"},
        strict=True,
    )
    database.table("board_floors").create(
        {"device": int, "boot": int, "starts": int},
        pk="device",
        not_null={"boot", "starts"},
        strict=True,
    )


def _create_kinds(database: Database) -> None:
    database.table("kinds").create(
        {"number": int, "port": str, "framing": str, "name": str, "kind": str},
        pk="number",
        not_null={"port", "framing", "name", "kind"},
        strict=True,
    )
    database.table("kinds").create_index(["port", "framing", "name"], unique=True)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the migrations that have not been applied to the database."""
    MIGRATIONS.apply(Database(connection))

"""Creates and migrates the tables of the outbox, with sqlite-utils.

| table | row |
|---|---|
| readings | one publication: `number` in order of arrival, `packet_id` once an exchange has begun,
  `released` 1 after PUBREC, `retain` 1 if the PUBLISH is retained, `arrived` in seconds of the
  outbox's clock (`ageing.py`), `gives_way_of` the port whose oldest readings may be dropped; the
  row is deleted after PUBCOMP |
| board_frames | digests of 64 frames of one start of one board (`board_start.py`); `used` rises
  with each use; rows older than the latest 1,024 frames of a start are deleted |
| board_starts | the number of starts of a board with this boot number |
| board_floors | summary of deleted rows in board_starts: for boot numbers up to `boot`, this device
  had at most `starts` starts each |
| kinds | the data type of a quantity of a port: number, text or boolean; `number` rises with each
  new quantity, and only the newest 8,192 rows are kept |
| properties | `starts` (how often the bridge has started with this database), `session` (the name
  of the bridge's session at the broker), `machine` (the machine on which the session began) |

A released migration is never changed. For a new version of the tables, a migration is appended, a
database is added to tests/bridge/golden, and the migration's name is added to `formats.py`. This
module is only loaded if a database must be migrated, because sqlite-utils takes three MB of memory.
"""

import sqlite3

from firmware_bridge.outbox.formats import MIGRATION_SET, blocks_of_ranges
from gateway.process.files.tables import Database, Migrations

MIGRATIONS = Migrations(MIGRATION_SET)


@MIGRATIONS()
def m001_readings_boards_properties(database: Database) -> None:
    """Create the tables of version 1."""
    database.table("readings").create(
        {"number": int, "topic": str, "payload": bytes, "packet_id": int, "released": int},
        pk="number",
        not_null={"topic", "payload", "released"},
        defaults={"released": 0},
        strict=True,
    )
    database.table("boards").create(
        {"device": int, "boot": int, "accepted": str, "heard": int},
        pk=("device", "boot"),
        not_null={"accepted", "heard"},
        strict=True,
    )
    database.table("properties").create(
        {"name": str, "value": str}, pk="name", not_null={"value"}, strict=True
    )


@MIGRATIONS()
def m002_boards_with_digests(database: Database) -> None:
    """Add digests of frames. A frame's number alone does not identify a repeat."""
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
    rows = database.execute("SELECT device, boot, accepted FROM boards ORDER BY heard, rowid")
    for used, (device, boot, accepted) in enumerate(rows.fetchall()):
        database.table("board_starts").insert({"device": device, "boot": boot, "starts": 1})
        for block, digests in blocks_of_ranges(accepted).items():
            database.execute(
                "INSERT INTO board_frames VALUES (?, ?, 0, ?, ?, ?)",
                (device, boot, block, digests, used),
            )
    database.table("boards").drop()


@MIGRATIONS()
def m003_session_without_address(database: Database) -> None:
    """Remove the broker's address from the stored session. The name alone identifies a session."""
    rows = database.execute("SELECT value FROM properties WHERE name = 'session'").fetchall()
    for (value,) in rows:
        name = value.rpartition("@")[0] or value
        database.execute("UPDATE properties SET value = ? WHERE name = 'session'", (name,))


@MIGRATIONS()
def m004_readings_that_are_retained(database: Database) -> None:
    """Add the RETAIN flag to readings. The flag is not set in existing readings."""
    database.table("readings").add_column("retain", int, not_null_default=0)


@MIGRATIONS()
def m005_readings_that_give_way(database: Database) -> None:
    """Add arrival time and port to readings.

    Existing readings get the arrival time 0 and no port. They are therefore never dropped.
    """
    readings = database.table("readings")
    readings.add_column("arrived", int, not_null_default=0)
    readings.add_column("gives_way_of", str)


@MIGRATIONS()
def m006_kinds_of_quantities(database: Database) -> None:
    """Add the table with the data type (number, text or boolean) of each quantity of a port."""
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

"""The outbox's tables, created and migrated by sqlite-utils; tools read them the same way.

| table | row |
|---|---|
| readings | one publication: `number` in order of arrival, `packet_id` once an exchange has begun,
  `released` 1 once PUBREC has come; gone at PUBCOMP |
| board_frames | digests of 64 frames of one start of one board (`board_start.py`); `used` rises
  with use. What is older than a start's latest 1,024 frames goes |
| board_starts | how many starts of a board had this boot number |
| board_floors | no boot number of this device up to `boot` had more than `starts` starts |
| properties | `starts` (of the bridge on this database), `session` (the name of ours at the
  broker), `machine` (on which that was begun) |

A released migration is never changed: a new version of the tables appends one, and adds its file to
tests/bridge/golden.
"""

from sqlite_utils import Database, Migrations

from firmware_bridge.board_start import (
    FRAMES_PER_BLOCK,
    FRAMES_REMEMBERED,
    NOT_ACCEPTED,
    UNKNOWN_CONTENTS,
)

MIGRATIONS = Migrations("outbox")


@MIGRATIONS()
def m001_readings_boards_properties(database: Database) -> None:
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
    rows = database.execute("SELECT value FROM properties WHERE name = 'session'").fetchall()
    for (value,) in rows:
        name = value.rpartition("@")[0] or value
        database.execute("UPDATE properties SET value = ? WHERE name = 'session'", (name,))


def blocks_of_ranges(accepted: str) -> dict[int, bytes]:
    """What version 1 kept of a start ("1-5,7-9") as blocks of frames with unknown contents.

    Raises `ValueError` for other text.
    """
    texts = [part.partition("-") for part in accepted.split(",")] if accepted else []
    ranges = [(int(first), int(last)) for first, _, last in texts]
    latest = max((last for _, last in ranges), default=0)
    blocks: dict[int, bytearray] = {}
    for first, last in ranges:
        for sequence in range(max(first, latest - FRAMES_REMEMBERED + 1), last + 1):
            block, index = divmod(sequence, FRAMES_PER_BLOCK)
            digests = blocks.setdefault(block, bytearray(NOT_ACCEPTED * FRAMES_PER_BLOCK))
            at = index * len(UNKNOWN_CONTENTS)
            digests[at : at + len(UNKNOWN_CONTENTS)] = UNKNOWN_CONTENTS
    return {block: bytes(digests) for block, digests in blocks.items()}


def newer_migrations_of(database: Database) -> list[str]:
    """The migrations that a newer version has applied to this database."""
    known = {each.name for each in MIGRATIONS.pending(Database(memory=True))}
    return [each.name for each in MIGRATIONS.applied(database) if each.name not in known]

"""The outbox's tables, created and migrated by sqlite-utils; tools read them the same way.

| table | row |
|---|---|
| readings | one publication: `number` in order of arrival, `packet_id` once an exchange has begun,
  `released` 1 once PUBREC has come; gone at PUBCOMP |
| boards | one start of one board: the frames accepted so far, `heard` counts bridge starts |
| properties | `starts` (of the bridge on this database), `session` (the broker's session we own) |
"""

from sqlite_utils import Database, Migrations

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

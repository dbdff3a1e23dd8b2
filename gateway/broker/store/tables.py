"""Names of the tables, grouped by what their rows belong to. `schema.py` creates them."""

SESSION_TABLES = ("sessions", "subscriptions", "inbound", "outbound", "queue", "wills")
"""Tables with rows that belong to one session, by `session` (in sessions: `number`)."""

MESSAGE_TABLES = ("inbound", "outbound", "queue", "retained")
"""Tables whose rows refer to a message by its number in the column `message`."""

JOURNAL_TABLE = "CREATE TABLE journal (sequence INTEGER PRIMARY KEY, blob BLOB NOT NULL)"
"""The table that held the journal until format 3."""

TABLES = ("meta", "messages", "retained", *SESSION_TABLES)

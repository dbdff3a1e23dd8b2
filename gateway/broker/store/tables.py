"""Names of the database tables, in groups. `schema.py` creates the tables."""

SESSION_TABLES = ("sessions", "subscriptions", "inbound", "outbound", "queue", "wills")
"""Tables whose rows belong to a session: column `session`, or `number` in `sessions` itself."""

MESSAGE_TABLES = ("inbound", "outbound", "queue", "retained")
"""Tables whose rows refer to a message by its number, in the column `message`."""

TABLES = ("meta", "messages", "retained", *SESSION_TABLES)

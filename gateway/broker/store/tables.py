"""Definitions of the database tables, and their names in groups. `schema.py` creates the tables."""

SESSION_TABLES = ("sessions", "subscriptions", "inbound", "outbound", "queue", "wills")
"""Tables whose rows belong to a session: column `session`, or `number` in `sessions` itself."""

MESSAGE_TABLES = ("inbound", "outbound", "queue", "retained")
"""Tables whose rows refer to a message by its number, in the column `message`."""

TABLES = ("meta", "messages", "retained", *SESSION_TABLES)

STATEMENTS = (
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
"""SQL statements that create the tables and indexes. SQLite stores them as they are."""

"""The supported formats of the outbox's database.

A format is the list of migrations that were applied to the file (`schema.py`).
"""

MIGRATION_SET = "outbox"
MIGRATIONS_KNOWN = ("m001_outbox",)

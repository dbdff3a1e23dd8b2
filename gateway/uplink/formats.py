"""The supported formats of the uplink's database.

A format is the list of migrations that were applied to the file (`schema.py`).
"""

MIGRATION_SET = "uplink"
MIGRATIONS_KNOWN = ("m001_messages_received_properties",)

"""Supported formats of the uplink's database.

The format is the list of migrations applied to the file (`schema.py`).
"""

MIGRATION_SET = "uplink"
MIGRATIONS_KNOWN = ("m001_messages_received_properties",)

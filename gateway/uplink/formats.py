"""Which formats of the uplink's database are understood.

A format is the list of the migrations that were applied to the file (`schema.py`).
"""

MIGRATION_SET = "uplink"
MIGRATIONS_KNOWN = ("m001_messages_received_properties",)

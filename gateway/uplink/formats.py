"""The supported formats of the uplink's database.

A format is the list of migrations that were applied to the file (`schema.py`).
"""

from typing import Final

MIGRATION_SET = "uplink"
MIGRATIONS_KNOWN = ("m001_messages_received_properties",)
_MESSAGES = (
    *("number", "packet_id", "released", "qos", "retain", "expires_at", "topic", "properties"),
    "payload",
)
COLUMNS: Final = {
    "messages_out": _MESSAGES,
    "messages_in": _MESSAGES,
    "received": ("side", "packet_id"),
    "properties": ("name", "value"),
}
"""The columns of each table in the current format."""

"""The supported formats of the outbox's database.

A format is the list of migrations that were applied to the file (`schema.py`).
"""

from typing import Final

MIGRATION_SET = "outbox"
MIGRATIONS_KNOWN = ("m001_outbox",)
COLUMNS: Final = {
    "readings": (
        *("number", "topic", "payload", "packet_id", "released", "retain", "arrived"),
        "gives_way_of",
    ),
    "board_frames": ("device", "boot", "repeat", "block", "digests", "used"),
    "board_starts": ("device", "boot", "starts"),
    "board_floors": ("device", "boot", "starts"),
    "kinds": ("number", "port", "framing", "name", "kind"),
    "properties": ("name", "value"),
}
"""The columns of each table in the current format."""

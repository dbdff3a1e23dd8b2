"""Client identifiers for the gateway's own MQTT sessions. Each session gets a new identifier.

A broker might still store a packet identifier from an earlier session. If that session were
resumed, the broker would drop a new message with this packet identifier as a duplicate. Therefore
each session has a unique client identifier::

    <client_id in the configuration>-<8 random hexadecimal digits>

The client identifier is stored with the exchanges in flight. If the broker has no session with this
client identifier, a new client identifier is created, so that no earlier session is ever resumed.
"""

import re
import secrets
from pathlib import Path

SUFFIX_DIGITS = 8
_SUFFIX = re.compile(r"-[0-9a-f]{8}")

# Files that identify the machine, because a card may be copied with its outbox to another gateway.
_MACHINE_FILES = (
    Path("/proc/device-tree/serial-number"),
    Path("/sys/class/dmi/id/product_uuid"),
    Path("/etc/machine-id"),
)
_MACHINE_CHARACTERS_MAX = 128


def new_name(client_id: str) -> str:
    """Return a new client identifier: `client_id` with random digits, so that it is unique."""
    return f"{client_id}-{secrets.token_hex(SUFFIX_DIGITS // 2)}"


def is_name_of(name: str, client_id: str) -> bool:
    """Return True if `name` is a session name that was created from `client_id`.

    Such a name consists of `client_id` and random digits.
    """
    suffix = name.removeprefix(client_id)
    return name.startswith(client_id) and _SUFFIX.fullmatch(suffix) is not None


def this_machine() -> str:
    """Return the permanent identifier of this machine, or an empty string if it has none."""
    for path in _MACHINE_FILES:
        try:
            found = path.read_text(errors="replace").strip("\0\n ")
        except OSError:
            continue
        if found:
            return found[:_MACHINE_CHARACTERS_MAX]
    return ""

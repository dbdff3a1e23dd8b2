"""Under which client identifier the broker keeps our session: a new name for each session.

A broker that still holds a packet identifier of an earlier life, or of another outbox, takes a new
message under it for a repeat and drops it. Nothing in MQTT 3.1.1 shows whose session a broker has,
and an address is no broker: the same one has several, and another one may be behind it. So the
name itself is the proof::

    <client_id of the configuration> - 8 random hexadecimal digits

It is stored with what is in flight, used on every address, and given up when a broker has no such
session: whatever another broker still keeps under it is never resumed.
"""

import re
import secrets
from pathlib import Path

SUFFIX_DIGITS = 8
_SUFFIX = re.compile(r"-[0-9a-f]{8}")

# A card may be copied, with its outbox, for another gateway; these stay with the machine.
_MACHINE_FILES = (
    Path("/proc/device-tree/serial-number"),
    Path("/sys/class/dmi/id/product_uuid"),
    Path("/etc/machine-id"),
)
_MACHINE_CHARACTERS_MAX = 128


def new_name(client_id: str) -> str:
    """Make a name that no session has had."""
    return f"{client_id}-{secrets.token_hex(SUFFIX_DIGITS // 2)}"


def is_name_of(name: str, client_id: str) -> bool:
    """Return whether it is such a name, or one of version 1, which had no digits."""
    suffix = name.removeprefix(client_id)
    return name.startswith(client_id) and (not suffix or _SUFFIX.fullmatch(suffix) is not None)


def this_machine() -> str:
    """Read the lasting identifier of this machine; empty where it has none."""
    for path in _MACHINE_FILES:
        try:
            found = path.read_text(errors="replace").strip("\0\n ")
        except OSError:
            continue
        if found:
            return found[:_MACHINE_CHARACTERS_MAX]
    return ""

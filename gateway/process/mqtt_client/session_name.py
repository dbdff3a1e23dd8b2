"""Client identifiers for our own sessions at a broker: a new name for each session.

A broker may still hold a packet identifier from an earlier session, or from another outbox. It
would take a new message with that identifier for a repeat, and drop it. In MQTT 3.1.1 a client
cannot find out whose session a broker has, and several brokers can share an address. Therefore the
name itself proves whose session it is::

    <client_id of the configuration> - 8 random hexadecimal digits

The name is stored with the exchanges in flight and used for every address. It is abandoned when a
broker has no session of that name, so that a session which another broker still keeps under it is
never resumed.
"""

import re
import secrets
from pathlib import Path

SUFFIX_DIGITS = 8
_SUFFIX = re.compile(r"-[0-9a-f]{8}")

# A card may be copied, with its outbox, for another gateway; these identify the machine.
_MACHINE_FILES = (
    Path("/proc/device-tree/serial-number"),
    Path("/sys/class/dmi/id/product_uuid"),
    Path("/etc/machine-id"),
)
_MACHINE_CHARACTERS_MAX = 128


def new_name(client_id: str) -> str:
    """Return a name that no session has had."""
    return f"{client_id}-{secrets.token_hex(SUFFIX_DIGITS // 2)}"


def is_name_of(name: str, client_id: str) -> bool:
    """Return True if it is such a name, or one of format version 1, which had no digits."""
    suffix = name.removeprefix(client_id)
    return name.startswith(client_id) and (not suffix or _SUFFIX.fullmatch(suffix) is not None)


def this_machine() -> str:
    """Return the permanent identifier of this machine; empty if it has none."""
    for path in _MACHINE_FILES:
        try:
            found = path.read_text(errors="replace").strip("\0\n ")
        except OSError:
            continue
        if found:
            return found[:_MACHINE_CHARACTERS_MAX]
    return ""

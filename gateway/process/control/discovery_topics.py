"""Topics for MQTT discovery in Home Assistant, shared by the bridge and the web page."""

import hashlib
import re
from typing import Final

STATUS: Final = "status"
"""Topic level after the prefix. Home Assistant publishes `online` and `offline` to this topic."""
_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def topic_for(prefix: str, gateway: str, device: str) -> str:
    """Return the topic to which a device's description is published for Home Assistant.

    The third level of the topic contains the names of the gateway and the device, separated by "-".
    Home Assistant allows only letters, digits, "_" and "-" in this level, so other characters are
    replaced with "_". If a name contains "-" or a replaced character, a digest is appended, so that
    different devices never get the same topic.
    """
    object_id = f"{gateway}-{device}"
    if not (_PLAIN.fullmatch(gateway) and _PLAIN.fullmatch(device)):
        digest = hashlib.sha256(f"{gateway}/{device}".encode()).hexdigest()
        object_id = f"{_NOT_ALLOWED.sub('_', object_id)}-{digest[:8]}"
    return f"{prefix}/device/{object_id}/config"

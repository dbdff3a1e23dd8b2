"""Topics of Home Assistant's MQTT discovery, which the bridge publishes and the web page shows."""

import hashlib
import re
from typing import Final

STATUS: Final = "status"
"""Topic level below the prefix at which Home Assistant publishes `online` and `offline`."""
_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def topic_for(prefix: str, gateway: str, device: str) -> str:
    """Return the topic of a device's description, which is unique for each gateway and device.

    The topic contains both names, separated by "-". Home Assistant allows only letters, digits, "_"
    and "-" here. If a name contains "-" or a character that is not allowed, a digest is appended to
    keep the topic unique.
    """
    object_id = f"{gateway}-{device}"
    if not (_PLAIN.fullmatch(gateway) and _PLAIN.fullmatch(device)):
        digest = hashlib.sha256(f"{gateway}/{device}".encode()).hexdigest()
        object_id = f"{_NOT_ALLOWED.sub('_', object_id)}-{digest[:8]}"
    return f"{prefix}/device/{object_id}/config"

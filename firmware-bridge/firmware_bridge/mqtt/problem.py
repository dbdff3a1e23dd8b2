"""Payload of Home Assistant's problem sensor: `problem` and `reasons` as JSON."""

import json
from collections.abc import Iterable
from typing import Final

REASONS_MAX: Final = 16
"""Reasons that a payload has: Home Assistant stores attributes of up to 16 KiB."""
REASON_CHARACTERS_MAX: Final = 255


def problem_payload(reasons: Iterable[str]) -> bytes:
    """Return the payload. Its reasons become the sensor's attributes."""
    shown = [each[:REASON_CHARACTERS_MAX] for each in reasons][:REASONS_MAX]
    return json.dumps({"problem": bool(shown), "reasons": shown}, separators=(",", ":")).encode()

"""Payload of Home Assistant's problem sensor: `problem` and `reasons` as JSON."""

import json
from collections.abc import Iterable
from typing import Final

REASONS_MAX: Final = 16
"""Maximum number of reasons in a payload. Home Assistant stores at most 16 KiB of attributes."""
REASON_CHARACTERS_MAX: Final = 255


def problem_payload(reasons: Iterable[str]) -> bytes:
    """Return the payload of the problem sensor, which is on if there is at least one reason.

    Home Assistant shows the reasons as attributes of the sensor.
    """
    shown = [each[:REASON_CHARACTERS_MAX] for each in reasons][:REASONS_MAX]
    return json.dumps({"problem": bool(shown), "reasons": shown}, separators=(",", ":")).encode()

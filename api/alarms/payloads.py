"""Converts alarms to MQTT payloads: one JSON object for each kind of alarm.

The bridge publishes the payloads as retained messages. This module does no I/O.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from api.alarms.alarm import Alarm

SUBJECTS_MAX: Final = (8, 2, 1)
"""Numbers of alarms that a payload lists at most, tried in this order.

If all payloads together are too long with one number, the next one is tried. The payload's field
`count` always includes all alarms.
"""
SENTENCE_CHARACTERS_MAX: Final = 300
BYTES_MAX: Final = 60 * 1024
"""Bytes of all payloads together, at most; the broker accepts 64 KiB."""


def payloads_of(alarms: Sequence[Alarm], kinds: Iterable[str]) -> dict[str, object]:
    """Return an MQTT payload for each kind. If a kind has no active alarms, its payload is None.

    Args:
        alarms: the active alarms, the most important first.
        kinds: the identifiers of all kinds.
    """
    by_kind: dict[str, list[Alarm]] = {}
    for alarm in alarms:
        by_kind.setdefault(alarm.id, []).append(alarm)
    found: dict[str, object] = {}
    for subjects in SUBJECTS_MAX:
        found = {
            kind: _payload_of(kind, by_kind[kind], subjects) if kind in by_kind else None
            for kind in sorted({*kinds, *by_kind})
        }
        if len(json.dumps(found)) <= BYTES_MAX:
            break
    return found


def _payload_of(kind: str, alarms: Sequence[Alarm], subjects: int) -> dict[str, object]:
    return {
        "id": kind,
        "level": max(alarm.level for alarm in alarms).word,
        "since_ms": min(alarm.since_ms for alarm in alarms),
        "count": len(alarms),
        "alarms": [_entry_of(alarm) for alarm in alarms[:subjects]],
    }


def _entry_of(alarm: Alarm) -> dict[str, object]:
    return {
        "subject": alarm.subject,
        "level": alarm.level.word,
        "since_ms": alarm.since_ms,
        "ended_ms": alarm.ended_ms,
        "sentence": alarm.sentence[:SENTENCE_CHARACTERS_MAX],
        "fix": alarm.fix[:SENTENCE_CHARACTERS_MAX],
        "acknowledged_by": alarm.acknowledged_by,
    }

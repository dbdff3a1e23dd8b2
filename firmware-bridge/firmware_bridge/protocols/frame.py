"""Results of protocols: frames of measurements, and counts of unreadable bytes."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.readings.measurement import (
    ABSOLUTE_TIME_SECONDS_MIN,
    TIME_SECONDS_MAX,
    Quantities,
)
from firmware_bridge.readings.numbering import BoardIdentity

TYPE: Final = "type"
"""The reason of a value that is not of its quantity's kind."""


class Damaged(ValueError):
    """A frame that cannot be read: `reason` is one short word for the counters."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Damage:
    """The same as a value, where no frame came of an answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A sound answer of a device that gives no values: `reason` is one word for the counters."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A quantity of a device that has no value now; `place` is for people, `reason` one word."""

    device: str
    quantity: str
    place: str
    reason: str


def checked_text(text: str) -> str:
    """Return the text, checked.

    Raises:
        Damaged: half a surrogate pair, which JSON can write, has no UTF-8, and no reader of it
            could show or store it.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Damaged("text")
    return text


def checked_time(seconds: float) -> float:
    """Return the time of a measurement, in seconds, checked.

    Raises:
        Damaged: an age of more than 8 years (the span of RFC 8428's relative times) and a year
            beyond 9999 are no times.
    """
    if not -ABSOLUTE_TIME_SECONDS_MIN < seconds <= TIME_SECONDS_MAX:
        raise Damaged("time")
    return seconds


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a line.

    `device` names its sensor on a line that has several; None is the port's own. `part` is one of
    several of the port's own device, without a name but with a number or a word. A frame with an
    `identity` is one that its sensor keeps and sends again until `acknowledgement` has come.
    One with an `answer_code` is a board's answer to a command; the identity's `sequence` is then
    the number of the request. `left_out` has the quantities for which the device gave no value, and
    the reason.
    """

    quantities: Quantities
    device: str | None = None
    identity: BoardIdentity | None = None
    acknowledgement: bytes = b""
    part: str | None = None
    answer_code: int | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def contents_digest(self) -> bytes:
        """Digest the measurements to 8 bytes, the same each time a board sends the frame.

        Times that count from the moment of arrival are left out: the frame grows older while it
        waits to be sent again.
        """
        contents = [
            (each.name, each.value, each.unit, each.absolute_time_seconds)
            for measurements in self.quantities.values()
            for each in measurements
        ]
        # `repr` of names, numbers and texts is the same in each version of Python.
        return hashlib.blake2b(repr(contents).encode(), digest_size=8).digest()


@dataclass
class Tally:
    """Counts by reason, since the start: damaged frames, bytes that belong to no frame, values of
    good frames that were left out, and requests that a device refused with a sound answer."""

    damaged: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, object]:
        """Return the counts for the status of a port."""
        return {
            "damaged": dict(self.damaged),
            "foreign": dict(self.foreign),
            "left_out": dict(self.left_out),
            "refused": dict(self.refused),
        }


Outcome = Frame | Damage | Refused
"""The result of a request."""

"""What protocols make of bytes: frames of measurements, and counts of what they could not read."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from firmware_bridge.readings.measurement import (
    ABSOLUTE_TIME_SECONDS_MIN,
    TIME_SECONDS_MAX,
    Quantities,
)
from firmware_bridge.readings.numbering import BoardIdentity


class Damaged(ValueError):
    """A frame that cannot be read: `reason` is one short word for the counters."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Damage:
    """The same as a value, where no frame came of an answer."""

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
    the number of the request.
    """

    quantities: Quantities
    device: str | None = None
    identity: BoardIdentity | None = None
    acknowledgement: bytes = b""
    part: str | None = None
    answer_code: int | None = None

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
    """Counts by reason, since the start: damaged frames, bytes that belong to no frame, and values
    of good frames that were left out."""

    damaged: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

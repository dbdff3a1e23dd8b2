"""Results of decoding and polling: frames of measurements, failures, and counters."""

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
"""Reason for skipping a value whose data type differs from the data type of its quantity."""


class Damaged(ValueError):
    """Error raised if a frame or one of its values cannot be read.

    `reason` is a short word for the counters, such as "checksum".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Damage:
    """Outcome of a request whose response was damaged or did not arrive.

    It also represents damage in overheard traffic. `reason` is a short word, such as "checksum".
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Outcome of a request that the device refused in a valid response. `reason` is one word."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A quantity that currently has no value.

    `place` describes the registers from which the quantity is read. `reason` is one word.
    """

    device: str
    quantity: str
    place: str
    reason: str


def checked_text(text: str) -> str:
    """Check that a string can be encoded in UTF-8, and return it.

    Raises:
        Damaged: with reason "text" if the string contains a lone surrogate. JSON can contain a lone
            surrogate, but other programs could not display or store the string.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Damaged("text")
    return text


def checked_time(seconds: float) -> float:
    """Check that the time of a measurement is in range, and return it.

    Raises:
        Damaged: with reason "time" if a relative time is 2**28 s (8.5 years) or more in the past,
            which RFC 8428 does not allow, or if a date is after the year 9999.
    """
    if not -ABSOLUTE_TIME_SECONDS_MIN < seconds <= TIME_SECONDS_MAX:
        raise Damaged("time")
    return seconds


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame from a serial line.

    `device` is the name of the polled device if the configuration names several devices on the
    line. Otherwise it is None, and the name in the port's configuration is used. `part`, such as
    the number of a node, is appended to the device's name. `skipped` maps each quantity without a
    value to the reason.

    Only frames from boards have an `identity`. A board repeats a frame of readings until it
    receives `acknowledgement`. An answer to a command has an `answer_code`, and `identity.sequence`
    is the number of the request.
    """

    quantities: Quantities
    device: str | None = None
    identity: BoardIdentity | None = None
    acknowledgement: bytes = b""
    part: str | None = None
    answer_code: int | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)

    def contents_digest(self) -> bytes:
        """Return an 8-byte digest of the measurements. All repeats of a frame have the same digest.

        Times relative to the arrival are excluded, because they change while the frame is waiting.
        """
        contents = [
            (each.name, each.value, each.unit, each.absolute_time_seconds)
            for measurements in self.quantities.values()
            for each in measurements
        ]
        # The `repr` of names, numbers and strings is the same in all versions of Python.
        return hashlib.blake2b(repr(contents).encode(), digest_size=8).digest()


@dataclass
class Tally:
    """Counters of a port since the bridge started. Each counter maps reasons to counts.

    `damaged` counts damaged frames, `foreign` counts other data between frames, `skipped` counts
    unreadable or missing values in valid frames, and `refused` counts requests that a device
    refused.
    """

    damaged: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, object]:
        """Return the counts by reason, as JSON for the port's status."""
        return {
            "damaged": dict(self.damaged),
            "foreign": dict(self.foreign),
            "left_out": dict(self.skipped),
            "refused": dict(self.refused),
        }


Outcome = Frame | Damage | Refused
"""The outcome of a request: a frame, a damaged or missing response, or a refusal."""

"""The latest frames of a serial port, shown to operators with their bytes, values and errors.

A decoder does not report which bytes belong to a frame. An entry therefore contains all bytes since
the previous entry, up to the read in which a frame became complete or was found to be damaged. If
two frames arrive in one read, they share an entry. On a polled port, each request and each response
has its own entry.
"""

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Tally
from firmware_bridge.serial.watching import text_of

FRAMES_KEPT: Final = 20
"""Number of entries kept for each port. They fill a phone screen."""
FRAME_BYTES_KEPT: Final = 256
"""Number of bytes kept for each entry. Frames of most protocols are not longer."""
VALUES_KEPT: Final = 16
"""Number of quantities kept for each entry, from its first frame. Further frames are only counted.

The entries of one port take up to 100 kB, and those of 64 ports about 7 MB.
"""
VALUES_CHARACTERS_MAX: Final = 400
"""Longest text of the values in an entry. A report of all entries then takes about 20 kB."""

_SOUND, _DAMAGED, _REFUSED, _FOREIGN, _REQUEST = (
    *("sound", "damaged", "refused"),
    *("foreign", "request"),
)


class _Entry:
    """One entry in the list of latest frames: bytes from the line, and the result of decoding them.

    `size_bytes` is the number of bytes on the line. `data` contains these bytes, or only the first
    of them if there were too many. `text` contains the reasons for damage, or describes a request.
    """

    def __init__(
        self, data: bytes, size_bytes: int, state: str, frames: Sequence[Frame], text: str
    ) -> None:
        self.time_ms = int(time.time() * 1000)
        self.data = data
        self.size_bytes = size_bytes
        self.state = state
        self.frame = _shortened(frames[0]) if frames else None
        self.others = len(frames) - 1
        self.text = text

    def as_json(self, units: Mapping[str, str]) -> dict[str, Any]:
        """Return this entry as JSON, with a text that describes the bytes and the result.

        The text is created only when an operator requests the entries.
        """
        texts = [] if self.frame is None else [text_of(self.frame, units)]
        texts.append(self.text)
        if self.others > 0:
            texts.append(f"and {self.others} more")
        text = "; ".join(each for each in texts if each)
        return {
            "time_ms": self.time_ms,
            "state": self.state,
            "hex": self.data.hex(),
            "bytes": self.size_bytes,
            "text": text[:VALUES_CHARACTERS_MAX],
        }


def _shortened(frame: Frame) -> Frame:
    """Return a copy of a frame with only the first VALUES_KEPT quantities.

    Only the latest measurement of each quantity is copied.
    """
    first = islice(frame.quantities.items(), VALUES_KEPT)
    quantities = {name: measurements[-1:] for name, measurements in first}
    skipped = dict(islice(frame.skipped.items(), VALUES_KEPT))
    return replace(frame, quantities=quantities, skipped=skipped)


class RecentFrames:
    """The latest frames of one port, and the received bytes that will form the next entry."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque(maxlen=FRAMES_KEPT)
        self._start = b""
        self._size_bytes = 0
        self._damaged: Counter[str] = Counter()
        self._foreign: Counter[str] = Counter()

    def begin(self) -> None:
        """Discard the bytes that were collected for the next entry."""
        self._start, self._size_bytes = b"", 0

    def received(self, data: bytes) -> None:
        """Collect received bytes for the next entry of the list."""
        if len(self._start) < FRAME_BYTES_KEPT:
            self._start += data[: FRAME_BYTES_KEPT - len(self._start)]
        self._size_bytes += len(data)

    def decoded(self, frames: Sequence[Frame], tally: Tally) -> None:
        """Add an entry if the decoder has found a frame, damage, or bytes outside of frames.

        `frames` are the new frames. `tally` contains the decoder's counters of damage and of
        bytes outside of frames.
        """
        damaged = self._reasons(tally.damaged, self._damaged)
        foreign = self._reasons(tally.foreign, self._foreign)
        if frames or damaged or foreign:
            state = _DAMAGED if damaged else _SOUND if frames else _FOREIGN
            self._end(state, frames, ", ".join((*damaged, *foreign)))

    def asked(self, data: bytes, text: str) -> None:
        """Add an entry for a request that was just sent. `text` describes the request.

        Bytes that were received before the request get a separate entry.
        """
        if self._size_bytes:
            self._end(_FOREIGN, (), "not requested, or late")
        self._entries.append(_Entry(data[:FRAME_BYTES_KEPT], len(data), _REQUEST, (), text))

    def answered(self, outcome: Outcome) -> None:
        """Add an entry with the bytes of a response and the outcome of its request."""
        match outcome:
            case Frame():
                self._end(_SOUND, (outcome,), "")
            case Damage():
                self._end(_DAMAGED, (), outcome.reason)
            case _:
                self._end(_REFUSED, (), outcome.reason)

    def as_json(self, units: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the latest frames as JSON, the newest first.

        `units` are the configured units, keyed by quantity.
        """
        return [each.as_json(units) for each in reversed(self._entries)]

    def _end(self, state: str, frames: Sequence[Frame], text: str) -> None:
        self._entries.append(_Entry(self._start, self._size_bytes, state, frames, text))
        self.begin()

    @staticmethod
    def _reasons(counted: Counter[str], before: Counter[str]) -> list[str]:
        """Return the reasons that were counted since the last call.

        `before` contains the counts at the last call, and is updated.
        """
        if counted.total() == before.total():
            return []
        reasons = [reason for reason, count in counted.items() if count > before[reason]]
        before.update(counted - before)
        return reasons

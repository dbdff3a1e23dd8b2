"""The latest frames of a port as they were on the line, for operators: bytes, values, damage.

A decoder does not report which bytes were a frame. So an entry has the bytes received since the
entry before, up to the read that completed a frame or showed damage; two frames that arrive
together share one. Of ports that ask, each request and each answer is an entry.
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
"""Entries of each port: a screen of a phone."""
FRAME_BYTES_KEPT: Final = 256
"""First bytes of an entry: the longest frame of most protocols."""
VALUES_KEPT: Final = 16
"""Quantities of an entry, of its first frame; further frames are counted. A port takes 100 kB with
all its entries, and 64 ports some 7 MB."""
VALUES_CHARACTERS_MAX: Final = 400
"""Characters of the values of an entry, so that an answer of all entries has some 20 kB."""

_SOUND, _DAMAGED, _REFUSED, _FOREIGN, _REQUEST = (
    *("sound", "damaged", "refused"),
    *("foreign", "request"),
)


class _Entry:
    """Bytes of the line, and the result of decoding them."""

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
        """Return the entry for an answer. The values are formatted now, if anyone asks."""
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
    """Return a frame with its first quantities, and the latest measurement of each."""
    first = islice(frame.quantities.items(), VALUES_KEPT)
    quantities = {name: measurements[-1:] for name, measurements in first}
    left_out = dict(islice(frame.left_out.items(), VALUES_KEPT))
    return replace(frame, quantities=quantities, left_out=left_out)


class RecentFrames:
    """The latest entries of one port, and the bytes of the next one."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque(maxlen=FRAMES_KEPT)
        self._start = b""
        self._size_bytes = 0
        self._damaged: Counter[str] = Counter()
        self._foreign: Counter[str] = Counter()

    def begin(self) -> None:
        """Forget the bytes of an unfinished entry, because the port was opened again."""
        self._start, self._size_bytes = b"", 0

    def received(self, data: bytes) -> None:
        """Add bytes to the next entry."""
        if len(self._start) < FRAME_BYTES_KEPT:
            self._start += data[: FRAME_BYTES_KEPT - len(self._start)]
        self._size_bytes += len(data)

    def decoded(self, frames: Sequence[Frame], tally: Tally) -> None:
        """End an entry, if the bytes completed frames, or were counted as no frame."""
        damaged = self._reasons(tally.damaged, self._damaged)
        foreign = self._reasons(tally.foreign, self._foreign)
        if frames or damaged or foreign:
            state = _DAMAGED if damaged else _SOUND if frames else _FOREIGN
            self._end(state, frames, ", ".join((*damaged, *foreign)))

    def asked(self, data: bytes, text: str) -> None:
        """Add a request, after bytes that were received unasked."""
        if self._size_bytes:
            self._end(_FOREIGN, (), "unasked, or late")
        self._entries.append(_Entry(data[:FRAME_BYTES_KEPT], len(data), _REQUEST, (), text))

    def answered(self, outcome: Outcome) -> None:
        """End the entry of an answer."""
        match outcome:
            case Frame():
                self._end(_SOUND, (outcome,), "")
            case Damage():
                self._end(_DAMAGED, (), outcome.reason)
            case _:
                self._end(_REFUSED, (), outcome.reason)

    def as_json(self, units: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the entries, the newest first. `units` are the port's own, by quantity."""
        return [each.as_json(units) for each in reversed(self._entries)]

    def _end(self, state: str, frames: Sequence[Frame], text: str) -> None:
        self._entries.append(_Entry(self._start, self._size_bytes, state, frames, text))
        self.begin()

    @staticmethod
    def _reasons(counted: Counter[str], before: Counter[str]) -> list[str]:
        """Return the reasons that were counted since the last call, and note the counts."""
        if counted.total() == before.total():
            return []
        reasons = [reason for reason, count in counted.items() if count > before[reason]]
        before.update(counted - before)
        return reasons

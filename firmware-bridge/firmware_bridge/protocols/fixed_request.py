"""Polls devices that respond to a fixed request with a line of text or a binary frame.

The decoder of the port's protocol decodes the response. It skips noise before the response, and
also an echo of the request.
"""

from abc import ABC
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome
from firmware_bridge.protocols.interface import (
    Decoder,
    DecoderSettings,
    Pause,
    Poller,
    PollerSettings,
    Preparation,
    Request,
    next_due,
)
from firmware_bridge.readings.kinds import Kinds
from gateway.process.declarations.quantities import Duration, Text, refusal
from gateway.process.declarations.serial_line import Line

ANSWER_BYTES_MAX: Final = 4096
"""Maximum bytes of a response, including noise before it. The longest frame has 256 bytes, and the
longest line has 4 KiB.
"""
_BITS_PER_CHARACTER: Final = 11

_BYTES = Text(
    r"[0-9A-Fa-f]{2}( ?[0-9A-Fa-f]{2}){0,63}",
    '1 to 64 bytes in hexadecimal digits, like "FF 01 86 00 00 00 00 00 79"',
)
FIXED_REQUEST_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "poll": "Request in bytes, for a device that sends nothing by itself.",
    "poll_text": "Request as text, instead of poll. It must contain its own end of line.",
    "poll_interval": "Time between two requests.",
    "answer_timeout": "Time within which the device must respond.",
    "wake": "Bytes that wake the device up before each request.",
    "wake_pause": "Time from the wake-up bytes to the request.",
}


@dataclass(frozen=True, kw_only=True)
class FixedRequestSettings(DecoderSettings, PollerSettings, ABC):
    """Base class for the settings of protocols whose devices can be polled with a fixed request.

    The request is either `poll`, in hexadecimal digits, or `poll_text`. If both are None, the
    device sends unprompted, and the bridge does not poll it.
    """

    poll: Annotated[str, _BYTES] | None = None
    poll_text: Annotated[str, Text(r"[\x00-\x7f]{1,64}", "1 to 64 ASCII characters")] | None = None
    poll_interval: Annotated[float, Duration(0.01, 86400)] = 10.0
    answer_timeout: Annotated[float, Duration(0.01, 60)] = 1.0
    wake: Annotated[str, _BYTES] | None = None
    wake_pause: Annotated[float, Duration(0.001, 10)] = 0.1

    @property
    def is_polled(self) -> bool:
        """True if the settings contain a request with which the bridge polls the device."""
        return self.poll is not None or self.poll_text is not None

    @property
    def request_bytes(self) -> bytes:
        """The bytes of the request, or no bytes if the device sends unprompted."""
        if self.poll_text is not None:
            return self.poll_text.encode("ascii")
        return bytes.fromhex(self.poll or "")

    def check(self) -> None:
        """Check that the settings for polling do not contradict each other.

        Only one of `poll` and `poll_text` is allowed. The other settings for polling need one of
        them, and `wake_pause` needs `wake`.
        """
        super().check()
        if self.poll is not None and self.poll_text is not None:
            raise refusal("either poll or poll_text: each of them is the request")
        for key in ("poll_interval", "answer_timeout", "wake", "wake_pause"):
            if key in self.given and not self.is_polled:
                raise refusal(f"poll with {key}: without a request the device is not polled")
        if "wake_pause" in self.given and self.wake is None:
            raise refusal("wake with wake_pause, or neither of them")

    def poller(self, line: Line | None) -> "FixedRequestPoller":
        """Create a poller for the device on `line`."""
        return FixedRequestPoller(self, Line() if line is None else line)


class FixedRequestPoller(Poller):
    """Poller that sends the same request at regular intervals, and decodes the responses."""

    def __init__(self, settings: FixedRequestSettings, line: Line) -> None:
        self._settings = settings
        self._decoder: Decoder = settings.decoder()
        self._character_seconds = _BITS_PER_CHARACTER / line.baud_rate
        self._due = 0.0
        self._read_bytes = 0

    def begin(self, now_seconds: float) -> None:
        """Schedule the first request for now."""
        self._due = now_seconds

    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the request if it is due, or else a pause until the next request."""
        if self._due > now_seconds:
            return Pause(self._due - now_seconds)
        settings = self._settings
        self._due = next_due(self._due, now_seconds, settings.poll_interval)
        self._begin_answer()
        data = settings.request_bytes
        before = None
        if settings.wake is not None:
            before = Preparation(settings.wake_pause, bytes.fromhex(settings.wake))
        # The time for the longest frame: the length of a response is only known when it arrives.
        seconds = settings.answer_timeout + (len(data) + 256) * self._character_seconds
        return Request(
            data, ANSWER_BYTES_MAX, seconds, settings.answer_timeout, "", "poll", before=before
        )

    def _begin_answer(self) -> None:
        self._decoder.begin(mid_line=False)
        self._decoder.tally.damaged.clear()
        self._read_bytes = 0

    def read(self, answer: bytes) -> Outcome | None:
        """Decode a response. Return its first frame, or None if more bytes are needed.

        `answer` contains all bytes of the response that were received so far. Only the bytes that
        were not in the previous call are decoded.
        """
        data, self._read_bytes = answer[self._read_bytes :], len(answer)
        return self._frame_in(self._decoder.feed(data))

    def time_out(self, answer: bytes) -> Outcome:
        """Return the outcome of a request whose response was not complete in time.

        Some frames are only complete once the line is silent. If the response contains such a
        frame, return it. Otherwise return the reason why the response contains no frame.
        """
        frame = self._frame_in(self._decoder.flush())
        if frame is not None:
            return frame
        reason = next(iter(self._decoder.tally.damaged), "noise")
        return Damage(reason if answer else "no_answer")

    def _frame_in(self, frames: list[Frame]) -> Frame | None:
        if not frames and self._decoder.tally.skipped:
            return Frame({})  # A valid response in which no quantity has a value.
        return frames[0] if frames else None

    @property
    def kinds(self) -> Kinds:
        """The data type (number, text or Boolean) of each quantity in the responses."""
        return self._decoder.kinds

    def take_skipped(self) -> Counter[str]:
        """Return the decoder's counts of skipped values by reason, and reset the counts."""
        tally = self._decoder.tally
        skipped, tally.skipped = tally.skipped, Counter()
        return skipped

    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """Return an empty string, because no outcome of a request needs a log message.

        `next_step` has already scheduled the next request, so nothing else is done here.
        """
        return ""

"""Interfaces of a protocol: a decoder of incoming bytes, or a poller that sends requests.

Both are pure: bytes and times come in as arguments, and what is returned is done by the port. A
third-party library is imported where a decoder or poller is made, because the settings of all
protocols are known to every program that reads the configuration.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Tally, Unread
from firmware_bridge.readings.kinds import Kinds
from gateway.process.declarations.protocol import ProtocolSettings
from gateway.process.declarations.serial_line import Line


class Decoder(ABC):
    """Takes bytes in any pieces and gives the frames that they complete.

    `tally` counts what is no frame. `kinds` are those of the quantities so far. Each decoder has a
    bound on the bytes that it keeps.
    """

    frame_bytes_max: int | None = None
    """Length of a frame above which it is `overlong`; None: unlimited."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.kinds = Kinds()

    @abstractmethod
    def begin(self, *, mid_line: bool) -> None:
        """Begin, because the port was opened; `mid_line`: with the rest of a line, perhaps."""

    @abstractmethod
    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete, in order."""

    def flush(self) -> list[Frame]:
        """Return the frames that a silent line completes: those that need no more bytes."""
        return []


@dataclass(frozen=True, slots=True)
class Request:
    """Bytes for the line, and what the port does until they are answered.

    The answer is waited for `answer_seconds_max` from when `data` is written; the time that both
    take on the line is in it. An answer that has failed may still come: for `late_seconds_max` the
    port then discards what it reads, so that it cannot be mistaken for the next answer.
    `device` is the device that is asked, "" the port's own; `text` is the purpose, for people.

    `before` is done before `data` is written. With `rates` the line has the first baud rate for
    `data` and the second for the answer. With `silent_seconds_max` the answer has also failed after
    that long without a byte: its whole time may be minutes.
    """

    data: bytes
    answer_bytes_max: int
    answer_seconds_max: float
    late_seconds_max: float
    device: str
    text: str = ""
    before: "Preparation | None" = None
    rates: tuple[int, int] | None = None
    silent_seconds_max: float | None = None


@dataclass(frozen=True, slots=True)
class Preparation:
    """Bytes before a request that wake the device up, and a pause.

    The pause begins when the bytes are written, and the time that they take is in it.
    """

    seconds: float
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is to be asked for so long."""

    seconds: float


def next_due(due_seconds: float, now_seconds: float, interval_seconds: float) -> float:
    """Return the time of the next request after one that was due. Missed intervals are skipped."""
    late_seconds = now_seconds - due_seconds
    return due_seconds + (late_seconds // interval_seconds + 1) * interval_seconds


class Poller(ABC):
    """Asks the devices of a line, one request at a time, and reads their answers.

    ::

        next_step -> Pause                                         -> next_step
                  -> Request, read until it is no None, or time_out -> end -> next_step
                     read -> Request: the conversation continues with this one, and its answer

    The port keeps the bytes of an answer and their bound; a poller keeps none. Times are those of
    a monotonic clock, in seconds.
    """

    @abstractmethod
    def begin(self, now_seconds: float) -> None:
        """Begin, because the port was opened: forget a request that was under way."""

    @abstractmethod
    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return what to ask now, or for how long to ask nothing."""

    @abstractmethod
    def read(self, answer: bytes) -> "Outcome | Request | None":
        """Decode the bytes received since the request was written; None: more have to come.

        A frame's `device` names the one that answered, on a line that has several.
        """

    def time_out(self, answer: bytes) -> "Outcome | Request":
        """Judge the bytes of an answer whose time is over; there may be none."""
        return Damage("truncated" if answer else "no_answer")

    @abstractmethod
    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """Take the outcome of the request, and decide when the device is asked again.

        Returns:
            A sentence for the log on what was learnt of the device; mostly none, "".
        """

    def unread(self) -> Sequence[Unread]:
        """Return the quantities that have no value now, and why."""
        return ()

    @property
    def kinds(self) -> Kinds:
        """The kinds of the quantities so far; none if the configuration declares all of them."""
        return Kinds()

    def take_left_out(self) -> Counter[str]:
        """Return the number of unreadable values in valid answers since the last call, by reason.
        Values with names are in `left_out` of their frames."""
        return Counter()


@dataclass(frozen=True, kw_only=True)
class DecoderSettings(ProtocolSettings, ABC):
    """The keys of a protocol whose sensors send by themselves."""

    @property
    def frames_enough(self) -> int:
        """Number of good frames that prove the protocol: one with a strong checksum."""
        return 5

    @abstractmethod
    def decoder(self) -> Decoder:
        """Create a decoder for one line."""


@dataclass(frozen=True, kw_only=True)
class PollerSettings(ProtocolSettings, ABC):
    """The keys of a protocol whose devices are asked."""

    @property
    def is_asked(self) -> bool:
        """True if the devices are asked."""
        return True

    @abstractmethod
    def poller(self, line: Line | None) -> Poller:
        """Create a poller for the devices on `line`; None: on a connection that is no line."""

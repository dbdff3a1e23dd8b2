"""Interfaces of a protocol: a decoder of received bytes, or a poller that sends requests.

Decoders and pollers have no access to ports or clocks. The port passes bytes and times to them as
arguments, and performs the actions that they return.

Every program that reads the configuration imports the settings of all protocols, even if it creates
no decoder or poller. To save memory, third-party libraries are imported only when a decoder or
poller that needs them is created.
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
    """Base class of decoders, which convert bytes to frames.

    The bytes can arrive in pieces of any size. Each decoder limits the number of bytes in its
    buffer. `tally` counts damaged frames, other data between frames, and skipped values. `kinds`
    contains the data type of each quantity received so far.
    """

    frame_bytes_max: int | None = None
    """Maximum bytes of a frame. A longer frame is counted as `overlong`. None means unlimited."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.kinds = Kinds()

    @abstractmethod
    def begin(self, *, mid_line: bool) -> None:
        """Prepare to decode after the port has been opened.

        The argument `mid_line` is True if the first bytes might belong to a line or frame whose
        beginning was missed.
        """

    @abstractmethod
    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes. Return the frames that these bytes complete, in order."""

    def flush(self) -> list[Frame]:
        """Return the complete frames in the buffer. Called after a pause on the line."""
        return []


@dataclass(frozen=True, slots=True)
class Request:
    """Bytes to write to the line, and the time and size limits for the response.

    The port waits at most `answer_seconds_max`, counted from the moment it begins to write `data`.
    After a timeout, the response might still arrive, so the port discards all bytes for
    `late_seconds_max`. `device` is the name of the polled device. It is empty if the configuration
    names no devices. `text` describes the purpose of the request, for messages.

    `before` wakes up the device before `data` is written. `rates` are the baud rates for `data` and
    for the response. If `silent_seconds_max` is set, the port also stops waiting when the line has
    been silent for this time. This is useful if a whole response can take minutes.
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
    """Bytes that wake up a device before a request, and the pause before the request.

    `seconds` is the length of the pause. It includes the time that the bytes take on the line.
    """

    seconds: float
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Pause:
    """Instruction to the port to send nothing for a number of seconds."""

    seconds: float


def next_due(due_seconds: float, now_seconds: float, interval_seconds: float) -> float:
    """Return the first scheduled time after `now_seconds`.

    `due_seconds` is the previous scheduled time. Any missed times are skipped.
    """
    late_seconds = now_seconds - due_seconds
    return due_seconds + (late_seconds // interval_seconds + 1) * interval_seconds


class Poller(ABC):
    """Base class of pollers, which send one request at a time and decode the responses.

    The port calls `next_step` repeatedly. If the result is a `Pause`, the port waits. If it is a
    `Request`, the port sends it. Whenever bytes arrive, the port calls `read`, until the result is
    not None. If the response does not arrive in time, the port calls `time_out`. If `read` or
    `time_out` returns another `Request`, the exchange continues with this request. Otherwise, the
    port passes the outcome to `end`.

    The port buffers the bytes of a response and limits their number. All times are in seconds, and
    are taken from a monotonic clock.
    """

    @abstractmethod
    def begin(self, now_seconds: float) -> None:
        """Prepare to poll after the port has been opened. An unfinished request is discarded."""

    @abstractmethod
    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the next request, or a pause if no request is due."""

    @abstractmethod
    def read(self, answer: bytes) -> "Outcome | Request | None":
        """Decode the bytes received since the last request.

        Return the outcome of the request, or a follow-up request, or None if more bytes are needed.
        If several devices share the line, `device` in a returned frame names the responding device.
        """

    def time_out(self, answer: bytes) -> "Outcome | Request":
        """Return the outcome of a request that timed out, or a follow-up request such as a repeat.

        `answer` contains the bytes that were received before the timeout. It may be empty.
        """
        return Damage("truncated" if answer else "no_answer")

    @abstractmethod
    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """Record the outcome of the request, and decide when to poll the device again.

        Returns:
            A sentence about the device for the log, or an empty string if there is nothing new.
        """

    def unread(self) -> Sequence[Unread]:
        """Return the quantities that currently have no value, with the reasons."""
        return ()

    @property
    def kinds(self) -> Kinds:
        """The data type (number, text or Boolean) of each quantity received so far.

        The result is empty if the configuration declares the types of all quantities.
        """
        return Kinds()

    def take_skipped(self) -> Counter[str]:
        """Return the counts of skipped values by reason, and reset the counts.

        A value is skipped if it cannot be read although the response is valid. Quantities in
        `Frame.skipped` are not counted here.
        """
        return Counter()


@dataclass(frozen=True, kw_only=True)
class DecoderSettings(ProtocolSettings, ABC):
    """Base class for the settings of a protocol whose sensors send unprompted."""

    @property
    def frames_enough(self) -> int:
        """The number of valid frames needed to identify the protocol.

        One frame is enough if frames have a strong checksum.
        """
        return 5

    @abstractmethod
    def decoder(self) -> Decoder:
        """Create a decoder for one serial line."""


@dataclass(frozen=True, kw_only=True)
class PollerSettings(ProtocolSettings, ABC):
    """Base class for the settings of a protocol whose devices are polled."""

    @property
    def is_polled(self) -> bool:
        """True if the bridge polls the devices, False if they send unprompted."""
        return True

    @abstractmethod
    def poller(self, line: Line | None) -> Poller:
        """Create a poller for the devices on `line`, or on the network if `line` is None."""

"""Polls heat, water, gas and electricity meters over wired M-Bus (EN 13757) through a converter.

A readout of a meter takes several requests. Each arrow points from a request to its response::

    primary address     SND_NKE -> E5, REQ_UD2 -> telegram, repeated while more telegrams follow
    secondary address   select -> E5, REQ_UD2 -> telegram, repeated while more telegrams follow

SND_NKE resets a meter, and REQ_UD2 requests data. E5 is an acknowledgement. A meter that was
selected by its secondary address responds to the address 253.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Final, Self

from firmware_bridge.protocols.frame import Damage, Damaged, Frame, Outcome
from firmware_bridge.protocols.interface import Pause, Poller, PollerSettings, Request, next_due
from firmware_bridge.protocols.key_files import KEY_PATH, key_from
from firmware_bridge.protocols.mbus_frame import (
    ACKNOWLEDGEMENT,
    ANSWER_BYTES_MAX,
    NETWORK_ADDRESS,
    answer_in,
    initialisation,
    is_selected_by,
    request,
    selection,
)
from firmware_bridge.protocols.mbus_records import HEADER_BYTES, Header, read_records
from firmware_bridge.protocols.mbus_security import decrypted
from firmware_bridge.readings.measurement import Quantities
from gateway.process.declarations.names import Name
from gateway.process.declarations.quantities import Duration, Items, Text, Whole, refusal
from gateway.process.declarations.section import NO_KEY, Section
from gateway.process.declarations.serial_line import Line

TELEGRAMS_MAX: Final = 16
"""Maximum number of telegrams per reading. A meter with a faulty toggle bit would send endlessly.
"""
REPEATS_MAX: Final = 1
"""Maximum repeats of a request without a valid response. The standard suggests two."""
_NOISE_BYTES: Final = 64
_BITS_PER_CHARACTER: Final = 11
_VARIABLE_DATA: Final = 0x72
_REFUSAL: Final = 0x70
_SECONDARY = r"[0-9Ff]{8}([0-9A-Fa-f]{8})?"


@dataclass(frozen=True, kw_only=True)
class MBusMeter(Section):
    """Settings of one meter on an M-Bus line."""

    descriptions: ClassVar = {
        "name": "Name of the meter in topics.",
        "address": "Primary address of the meter.",
        "secondary": "Number on the plate of the meter, if it has no primary address of its own.",
        "poll_interval": "Time between two readouts. Default: the port's poll_interval.",
        "key_file": "File with the key of a meter that encrypts: 32 hexadecimal digits.",
    }

    name: Name
    address: Annotated[int, Whole(0, 254)] | None = None
    secondary: (
        Annotated[
            str,
            Text(_SECONDARY, 'a number of 8 digits, like "12345678", or 16 digits with its maker'),
        ]
        | None
    ) = None
    poll_interval: Annotated[float | None, Duration(1, 31_536_000)] = None
    key_file: Annotated[str, KEY_PATH] | None = None
    key: bytes | None = field(default=None, repr=False, metadata=NO_KEY)

    def check(self) -> None:
        """Reject a meter with no address, or with both a primary and a secondary address."""
        if (self.address is None) == (self.secondary is None):
            raise refusal("either address or secondary: each of them is the meter's address")


@dataclass(frozen=True, kw_only=True)
class MBus(PollerSettings):
    """Settings for polling M-Bus meters."""

    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    default_line: ClassVar = Line(2400, 8, "E", 1)
    descriptions: ClassVar = {
        "meters": "Meters on the line.",
        "poll_interval": "Time between two readouts, for meters without poll_interval.",
        "answer_timeout": "Time within which a meter must respond.",
    }

    meters: Annotated[tuple[MBusMeter, ...], Items(1)]
    poll_interval: Annotated[float, Duration(1, 86400)] = 900.0
    answer_timeout: Annotated[float, Duration(0.01, 60)] = 1.0

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the meters."""
        return tuple(each.name for each in self.meters)

    def check(self) -> None:
        """Reject two meters with the same name or the same address."""
        for key in ("name", "address", "secondary"):
            given = [getattr(each, key) for each in self.meters if getattr(each, key) is not None]
            for each in given:
                if given.count(each) > 1:
                    raise refusal(f"{key} {each} once in meters, not several times")

    def with_secrets(self, first_line_of: Callable[[str, str], str]) -> Self:
        """Return a copy of the settings with the keys loaded from their files.

        `first_line_of` returns the first line of a file.

        Raises:
            ValueError: if a file does not contain a key.
        """
        meters = tuple(
            each
            if each.key_file is None
            else replace(each, key=key_from(each.key_file, "key_file", first_line_of))
            for each in self.meters
        )
        return replace(self, meters=meters)

    def poller(self, line: Line | None) -> "MBusPoller":
        """Create a poller for the meters on `line`."""
        return MBusPoller(self, self.default_line if line is None else line)


@dataclass
class _Readout:
    """The state of one readout of a meter, which takes several requests and responses."""

    meter: MBusMeter
    is_begun: bool = False
    toggled: bool = True
    telegrams: int = 0
    repeats: int = 0
    header: Header | None = None
    quantities: Quantities = field(default_factory=dict)


class MBusPoller(Poller):
    """Poller that reads out one meter after another. All telegrams of a readout form one frame."""

    def __init__(self, settings: MBus, line: Line) -> None:
        self._settings = settings
        self._character_seconds = _BITS_PER_CHARACTER / line.baud_rate
        self._due = [0.0] * len(settings.meters)
        self._now: _Readout | None = None
        self._skipped: Counter[str] = Counter()

    def begin(self, now_seconds: float) -> None:
        """Schedule a poll of all meters for now."""
        self._due = [now_seconds] * len(self._due)
        self._now = None

    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the first request of a readout that is due, or a pause until the next readout."""
        index = min(range(len(self._due)), key=lambda each: self._due[each])
        if self._due[index] > now_seconds:
            return Pause(self._due[index] - now_seconds)
        meter = self._settings.meters[index]
        interval = meter.poll_interval or self._settings.poll_interval
        self._due[index] = next_due(self._due[index], now_seconds, interval)
        self._now = _Readout(meter)
        return self._first_request()

    def _first_request(self) -> Request:
        meter = self._readout.meter
        if meter.secondary is not None:
            return self._request(selection(meter.secondary), "select")
        assert meter.address is not None, "the settings give one of them"
        return self._request(initialisation(meter.address), "initialise")

    def _data_request(self) -> Request:
        now = self._readout
        address = NETWORK_ADDRESS if now.meter.secondary is not None else now.meter.address
        assert address is not None, "the settings give one of them"
        now.is_begun = True
        text = f"telegram {now.telegrams + 1}"
        return self._request(request(address, toggled=now.toggled), text)

    def _request(self, data: bytes, text: str) -> Request:
        on_line = (len(data) + ANSWER_BYTES_MAX) * self._character_seconds
        silent = len(data) * self._character_seconds + self._settings.answer_timeout
        name = self._readout.meter.name
        return Request(
            data, ANSWER_BYTES_MAX + _NOISE_BYTES, on_line + self._settings.answer_timeout,
            self._settings.answer_timeout, name, f"{name}: {text}", silent_seconds_max=silent,
        )  # fmt: skip

    @property
    def _readout(self) -> _Readout:
        assert self._now is not None, "a readout has begun"
        return self._now

    def read(self, answer: bytes) -> Outcome | Request | None:
        """Read a response. The first is an acknowledgement, and all others are telegrams.

        Return the next request to the meter, the outcome of the readout, or None if more bytes are
        needed.
        """
        if not self._readout.is_begun:
            return self._data_request() if answer.endswith(ACKNOWLEDGEMENT) else None
        try:
            content = answer_in(answer)
            return None if content is None else self._read_telegram(content)
        except Damaged as damage:
            return self._repeat_request() or self._end_at(damage.reason)

    def _read_telegram(self, content: bytes) -> Outcome | Request:
        now = self._readout
        if now.meter.address not in (None, 254, content[1]):
            return self._end_at("address")
        if content[2] == _REFUSAL:
            return self._end_at("refused")
        if content[2] != _VARIABLE_DATA:
            return self._end_at("form")
        first_bytes, data = content[3 : 3 + HEADER_BYTES], content[3 + HEADER_BYTES :]
        header = Header.of(first_bytes)
        if now.meter.secondary and not is_selected_by(content[3:11], now.meter.secondary):
            return self._end_at("address")
        data = decrypted(first_bytes, data, now.meter.key)
        found, more = read_records(data, header, self._skipped)
        now.header = header
        for name, measurements in found.items():
            if now.quantities.setdefault(name, measurements) != measurements:
                self._skipped["name"] += 1
        now.telegrams += 1
        now.repeats = 0
        if more and now.telegrams < TELEGRAMS_MAX:
            now.toggled = not now.toggled
            return self._data_request()
        return self._frame_of(header)

    def _frame_of(self, header: Header) -> Frame:
        of_meter = {each.name: [each] for each in header.measurements()}
        return Frame({**of_meter, **self._readout.quantities}, device=self._readout.meter.name)

    def _end_at(self, reason: str) -> Frame | Damage:
        """Return the values of the telegrams before one that failed, or damage with a reason.

        If there are values, the missing telegrams are counted as truncated.
        """
        header = self._readout.header
        if header is None:
            return Damage(reason)
        self._skipped["truncated"] += 1
        return self._frame_of(header)

    def _repeat_request(self) -> Request | None:
        """Return the last request again, or None if it has already been repeated."""
        now = self._readout
        if now.repeats >= REPEATS_MAX:
            return None
        now.repeats += 1
        return self._data_request() if now.is_begun else self._first_request()

    def time_out(self, answer: bytes) -> Outcome | Request:
        """Return a repeat of the request that timed out, or the reason why the readout has failed.

        A request is repeated once. If a meter with a primary address does not send the
        acknowledgement E5, its data is requested anyway.
        """
        now = self._readout
        if not now.is_begun and now.meter.secondary is None:
            return self._data_request()
        return self._repeat_request() or self._end_at("truncated" if answer else "no_answer")

    def take_skipped(self) -> Counter[str]:
        """Return the counts of skipped values by reason, and reset the counts."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """End the readout of the current meter.

        Return an empty string, because no outcome of a readout needs a log message.
        """
        self._now = None
        return ""

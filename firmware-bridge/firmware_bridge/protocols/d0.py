r"""Polls meters according to IEC 62056-21 (D0), over an optical head, a current loop or RS-485::

    /?12345678! CR LF                       request, at 300 baud
    /ISK5MT174-0001 CR LF                   manufacturer (3 letters), character for the baud rate
    ACK 0 5 0 CR LF                         only in mode C: accepts the baud rate
    STX 1.8.0(000123.4*kWh) CR LF ... ! CR LF ETX BCC       at the new baud rate

The character for the baud rate is a digit in mode C. It is a letter in mode B, where the meter
changes its baud rate without an ACK. Any other character means mode A, which has a single baud
rate. The BCC is the XOR of all bytes after STX up to and including ETX. For meters that send
unprompted, use protocol `dsmr` with `crc = false`.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from firmware_bridge.protocols.checksums import PARITY, SEVEN_BITS, xor8
from firmware_bridge.protocols.dsmr_telegram import read_telegram
from firmware_bridge.protocols.frame import TYPE, Damage, Frame, Outcome
from firmware_bridge.protocols.interface import (
    Pause,
    Poller,
    PollerSettings,
    Preparation,
    Request,
    next_due,
)
from firmware_bridge.readings.kinds import Kinds
from gateway.process.declarations.quantities import Duration, Text, Whole, refusal
from gateway.process.declarations.serial_line import Line

TELEGRAM_BYTES_MAX: Final = 16_384
"""Maximum bytes of a telegram. The registers of fifteen months take 8 KiB."""
SIGN_ON_BYTES_MAX: Final = 256
"""Maximum bytes up to the end of the identification. An identification has 32 characters; an echo
of the request and noise may come before it.
"""
_FIRST_RATE: Final = 300
_RATES_OF_C: Final = {"0": 300, "1": 600, "2": 1200, "3": 2400, "4": 4800, "5": 9600, "6": 19200}
_RATES_OF_B: Final = {"A": 600, "B": 1200, "C": 2400, "D": 4800, "E": 9600, "F": 19200}
_ANSWER_SECONDS_MAX: Final = 1.5
"""Maximum time from a request to the first character, and between two characters of a response."""
_REACTION_SECONDS: Final = 0.25
"""Time from a response to the next request. The standard allows 0.2 s to 1.5 s."""
_ADAPTER_SECONDS: Final = 1.0
_WAKE_UP_SECONDS, _WAKE_UP_PAUSE_SECONDS = 2.2, 1.6
"""Duration of the NUL bytes that wake a meter up, and of the pause after them. Battery-powered
meters only listen at intervals."""
_BITS_PER_CHARACTER: Final = 10
_STX, _ETX = b"\x02", b"\x03"
_IDENTIFICATION = re.compile(rb"/[A-Za-z]{3}([ -~])[^\r\n]*\r?\n")
_END_WITHOUT_CHECK = re.compile(rb"(?:\A|[\r\n])![ \t]*\r?\n")


@dataclass(frozen=True, kw_only=True)
class D0(PollerSettings):
    """Settings for a meter whose registers are polled (IEC 62056-21)."""

    default_line: ClassVar = Line(_FIRST_RATE, 7, "E", 1)
    address_schemes: ClassVar = {
        "tcp": "a serial server that passes on the bytes of a line",
        "rfc2217": "a serial server with RFC 2217",
    }
    descriptions: ClassVar = {
        "poll_interval": "Time between two readouts of the meter.",
        "meter_address": "Address of the meter, if several meters share a line.",
        "baud_rate_max": "Highest rate to negotiate. The line's own rate means no negotiation.",
        "wake_up": "Wake the meter up before each request. Needed for meters with a battery.",
        "utc_offset": "Offset of the meter's winter time from UTC, in hours.",
    }

    poll_interval: Annotated[float, Duration(1, 86400)] = 900.0
    meter_address: Annotated[str, Text(r"[0-9A-Za-z ]{1,32}", "1 to 32 letters and digits")] = ""
    baud_rate_max: Annotated[int, Whole(300, 19200)] = 19200
    wake_up: bool = False
    utc_offset: Annotated[int, Whole(-12, 14)] = 1

    def check(self) -> None:
        """Reject a maximum baud rate that the protocol does not define."""
        rates = sorted(_RATES_OF_C.values())
        if self.baud_rate_max not in rates:
            raise refusal(f"a baud_rate_max of {', '.join(map(str, rates))}")

    def check_scheme(self, scheme: str | None) -> None:
        """Reject a `baud_rate_max` other than 300 baud if the port's address begins with `tcp://`.

        With another value, the meter can change its baud rate during a readout. Over `tcp://`, the
        bridge cannot change the baud rate of the serial server to which the meter is connected.
        """
        if scheme == "tcp" and self.baud_rate_max != _FIRST_RATE:
            raise refusal(
                f"baud_rate_max = {_FIRST_RATE} with tcp://, which cannot change the rate of the "
                "server's line; rfc2217:// can"
            )

    def poller(self, line: Line | None) -> "D0Poller":
        """Create a poller for the meter on `line`."""
        return D0Poller(self, self.default_line if line is None else line)


class D0Poller(Poller):
    """Poller of one meter. Each poll signs on, negotiates a baud rate, and reads a telegram."""

    def __init__(self, settings: D0, line: Line) -> None:
        self._settings = settings
        self._rate = line.baud_rate
        self._due = 0.0
        self._kinds = Kinds()
        self._skipped: Counter[str] = Counter()
        self._identification: bytes | None = None

    def begin(self, now_seconds: float) -> None:
        """Schedule the first poll for now."""
        self._due = now_seconds
        self._identification = None

    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the sign-on request if a poll is due, or else a pause until the next poll."""
        if self._due > now_seconds:
            return Pause(self._due - now_seconds)
        self._identification = None
        self._due = next_due(self._due, now_seconds, self._settings.poll_interval)
        data = b"/?%s!\r\n" % self._settings.meter_address.encode()
        on_line = (len(data) + SIGN_ON_BYTES_MAX) * _BITS_PER_CHARACTER / self._rate
        return Request(
            data,
            SIGN_ON_BYTES_MAX + TELEGRAM_BYTES_MAX,
            on_line + _ANSWER_SECONDS_MAX + _ADAPTER_SECONDS + self._telegram_seconds(self._rate),
            _ANSWER_SECONDS_MAX,
            "",
            "sign on",
            before=self._wake_up() if self._settings.wake_up else None,
            rates=(self._rate, self._rate),
            silent_seconds_max=len(data) * _BITS_PER_CHARACTER / self._rate
            + _ANSWER_SECONDS_MAX
            + _ADAPTER_SECONDS,
        )

    def _wake_up(self) -> Preparation:
        count = int(_WAKE_UP_SECONDS * self._rate / _BITS_PER_CHARACTER)
        return Preparation(_WAKE_UP_SECONDS + _WAKE_UP_PAUSE_SECONDS, bytes(count))

    def _telegram_seconds(self, rate: int) -> float:
        return TELEGRAM_BYTES_MAX * _BITS_PER_CHARACTER / rate

    def read(self, answer: bytes) -> Outcome | Request | None:
        """Decode the response to the latest request: the meter's identification or its telegram.

        Return the outcome of the poll, or a request that continues the poll at the negotiated baud
        rate. Return None if more bytes are needed.
        """
        if self._identification is not None:
            return self._telegram_of(self._identification, answer)
        found = _IDENTIFICATION.search(answer)
        if found is None:
            return None
        character = found[1].decode()
        if character in _RATES_OF_C:
            self._identification = found[0]
            return self._acknowledgement(character)
        if character in _RATES_OF_B and not answer[found.end() :]:
            self._identification = found[0]
            return self._continuation(b"", _RATES_OF_B[character], "")
        return self._telegram_of(found[0], answer[found.end() :])

    def _acknowledgement(self, offered: str) -> Request:
        rate = min(_RATES_OF_C[offered], max(self._settings.baud_rate_max, self._rate))
        digit = next(key for key, each in _RATES_OF_C.items() if each == rate)
        return self._continuation(b"\x060%s0\r\n" % digit.encode(), rate, f"{rate} baud")

    def _continuation(self, data: bytes, rate: int, text: str) -> Request:
        return Request(
            data,
            TELEGRAM_BYTES_MAX,
            self._telegram_seconds(rate) + _ANSWER_SECONDS_MAX + _ADAPTER_SECONDS,
            _ANSWER_SECONDS_MAX,
            "",
            text,
            before=Preparation(_REACTION_SECONDS) if data else None,
            rates=(self._rate if data else rate, rate),
            silent_seconds_max=_ANSWER_SECONDS_MAX + _ADAPTER_SECONDS,
        )

    def _telegram_of(self, identification: bytes, data: bytes) -> Outcome | None:
        start, end = data.find(_STX), data.find(_ETX)
        if start < 0:
            last = _END_WITHOUT_CHECK.search(data)
            if last is None:
                return None
            return self._frame_of(identification + data[: last.start()])
        if end < start or end + 1 >= len(data):
            return None
        content = data[start + 1 : end + 1]
        if xor8(content) != data[end + 1]:
            return Damage("checksum")
        return self._frame_of(identification + content.rstrip(b"\x03\r\n").removesuffix(b"!"))

    def _frame_of(self, telegram: bytes) -> Outcome:
        quantities = read_telegram(telegram, self._settings.utc_offset, self._skipped)
        if changed := self._kinds.keep(quantities):
            self._skipped[TYPE] += changed
        return Frame(quantities) if quantities else Damage("no_reading")

    @property
    def kinds(self) -> Kinds:
        """The data type (number, text or Boolean) of each quantity of the meter."""
        return self._kinds

    def take_skipped(self) -> Counter[str]:
        """Return the counts of skipped values by reason, and reset the counts."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def time_out(self, answer: bytes) -> Outcome:
        """Return the reason why no complete telegram arrived in time."""
        if not answer.strip(b"\0\r\n"):
            return Damage("no_answer")
        if _IDENTIFICATION.search(answer):
            return Damage("truncated")
        return Damage(PARITY if _IDENTIFICATION.search(answer.translate(SEVEN_BITS)) else "noise")

    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """Return an empty string, because no outcome of a poll needs a log message.

        `next_step` has already scheduled the next poll, so nothing else is done here.
        """
        return ""

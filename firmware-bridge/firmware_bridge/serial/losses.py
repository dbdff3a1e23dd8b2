"""Logs a port's losses (damaged frames, omitted values, dropped readings) without flooding the log.

For each reason, the 1st, 2nd, 4th, 8th loss and so on are logged. If the outbox is full, one line
is logged when the port begins to drop readings, and another when readings are accepted again. When
the port is lost or the bridge stops, a summary is logged with the counts since the last summary.
The port's status includes the counts of all losses.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from firmware_bridge.readings.device_clock import iso_of
from firmware_bridge.serial.status import PortStatus

logger = logging.getLogger(__name__)

# Counted as dropped although it is not a reading. The board sends its frame again.
_ACKNOWLEDGEMENT = "acknowledgement"
# A sensor that has no value is not a fault of the line.
_NOT_MEASURED = "not_measured"
_ADVICE = {
    "encrypted": "the meter encrypts: give its key with key_file",
    "layout": "the order of its values is unknown; make a recording: `oncegate serial record`",
    "key": "the key in key_file, or authentication_key_file, is not this meter's",
    "parity": 'the characters have 7 bits and a parity bit: set line, such as line = "9600 7E1"',
    "type": "a quantity keeps the type of its first value; declare another with the key types, "
    "or rename the port of a device that was replaced",
}
_ADVICE_ON_DAMAGE = "check sensor, cable and line settings"
# The counts that turn a summary into a warning.
_LOST = ("overruns", "damaged", "dropped")


class Losses:
    """The counters of one port's lost readings and frames, and the rules for logging the losses."""

    def __init__(self, status: PortStatus) -> None:
        self._status = status
        self._port = status.name
        self.dropped = status.dropped
        self._logged: Counter[tuple[str, str]] = Counter()
        self._clocks: Counter[str] = Counter()
        self._zones: Counter[str] = Counter()
        self._dropped_before = 0
        self._summarised: Counter[tuple[str, str]] = Counter()

    def check_damage(self, damaged: Mapping[str, int]) -> None:
        """Log each reason for damaged frames when it is new, and again when its count has doubled.

        `damaged` contains the total count for each reason.
        """
        for reason, count in damaged.items():
            if self._has_doubled("damaged", reason, count):
                logger.warning(
                    "serial port %s: damaged (%s), %d since the start; %s",
                    self._port,
                    reason,
                    count,
                    _ADVICE.get(reason, _ADVICE_ON_DAMAGE),
                )

    def check_skipped(self, skipped: Mapping[str, int]) -> None:
        """Log each reason for omitted values of valid frames.

        A reason is logged when it is new, and again when its count has doubled. `skipped` contains
        the total count for each reason.
        """
        for reason, count in skipped.items():
            if self._has_doubled("left_out", reason, count):
                logger.log(
                    logging.INFO if reason == _NOT_MEASURED else logging.WARNING,
                    "serial port %s: values left out (%s), %d since the start%s",
                    self._port,
                    reason,
                    count,
                    f"; {_ADVICE[reason]}" if reason in _ADVICE else "",
                )

    def note_clock(self, device: str, given_seconds: float) -> None:
        """Count a frame in which a device reports a wrong time.

        The wrong time is logged for the first frame, and again when the device's count has doubled.
        `given_seconds` is the wrong time in Unix seconds.
        """
        self._clocks[device] += 1
        if self._has_doubled("clock", device, self._clocks[device]):
            logger.warning(
                "serial port %s: the clock of %s is wrong: it shows %s; its readings have the "
                "time of arrival; set its clock",
                self._port,
                device,
                iso_of(given_seconds),
            )

    def note_time_zone(self, device: str, hours: int, utc_offset: int) -> None:
        """Count a frame whose time is wrong by a whole number of hours.

        This is logged for the first frame, and again when the count has doubled. `hours` is the
        difference. `utc_offset` is the value of the setting `utc_offset` that would correct the
        time.
        """
        self._zones[device] += 1
        if self._has_doubled("zone", device, self._zones[device]):
            logger.warning(
                "serial port %s: the times of %s are %d h %s the gateway's clock: set "
                "utc_offset = %d if the meter is in another time zone",
                self._port,
                device,
                abs(hours),
                "ahead of" if hours > 0 else "behind",
                utc_offset,
            )

    def note_dropped(self, reason: str, count: int = 1) -> None:
        """Count lost readings or acknowledgements.

        A reason is logged when it is new, and again when its count has doubled.
        """
        self.dropped[reason] += count
        total = self.dropped[reason]
        if self._has_doubled("dropped", reason, total):
            what = "acknowledgements" if reason == _ACKNOWLEDGEMENT else "readings"
            logger.error(
                "serial port %s: %s are dropped (%s), %d since the start",
                self._port,
                what,
                reason,
                total,
            )

    def begin_dropping(self, reason: str, count: int) -> None:
        """Count readings that are dropped because the outbox is full. Log when dropping begins."""
        self.dropped[reason] += count
        if self._status.dropping is None:
            self._dropped_before = self.dropped.total() - count
            logger.error(
                "serial port %s: readings are dropped (%s, when_full = %s)",
                self._port,
                reason,
                self._status.when_full,
            )
        self._status.dropping = reason

    def end_dropping(self) -> None:
        """If the port was dropping readings, log that readings are accepted again."""
        if self._status.dropping is not None:
            self._status.dropping = None
            logger.warning(
                "serial port %s: readings are accepted again; %d were dropped",
                self._port,
                self.dropped.total() - self._dropped_before,
            )

    def summarise(self, damaged: Mapping[str, int]) -> None:
        """Log one line with all counts since the last summary.

        Nothing is logged if no count has changed. `damaged` contains the total of damaged frames
        for each reason.
        """
        status = self._status
        counts = {
            ("bytes", ""): status.bytes_read,
            ("frames", ""): status.frames,
            ("resyncs", ""): status.resyncs,
            ("reopened", ""): max(0, status.opened - 1),
            ("overruns", ""): status.overruns,
            **{("damaged", f" ({reason})"): count for reason, count in damaged.items()},
            **{("dropped", f" ({reason})"): count for reason, count in self.dropped.items()},
        }
        new = {key: count - self._summarised[key] for key, count in counts.items()}
        self._summarised.update(new)
        found = [f"{count} {kind}{reason}" for (kind, reason), count in new.items() if count]
        if not found:
            return
        has_lost = any(count for (kind, _), count in new.items() if kind in _LOST)
        logger.log(
            logging.WARNING if has_lost else logging.INFO,
            "serial port %s: since the last summary %s; last frame %s",
            self._port,
            ", ".join(found),
            _time_text(status.last_frame_ms),
        )

    def _has_doubled(self, kind: str, reason: str, count: int) -> bool:
        before, self._logged[kind, reason] = self._logged[kind, reason], count
        return count.bit_length() > before.bit_length()


def _time_text(time_ms: int | None) -> str:
    if time_ms is None:
        return "never"
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

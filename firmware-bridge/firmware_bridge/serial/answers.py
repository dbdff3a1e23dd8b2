"""Logs and counts the failed requests to polled devices.

Failures are counted by device and reason. Only the 1st, 2nd, 4th, 8th failure and so on is logged,
so that a device that is switched off does not fill the log. The first response after several
failures is also logged.
"""

import logging
from collections import Counter
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Outcome
from firmware_bridge.serial.status import PortStatus

logger = logging.getLogger(__name__)

FAILED_BEFORE_NOTICE: Final = 3
"""Consecutive failed requests to a device after which its next response is logged."""

_FAULTS: Final = {
    "no_answer": "does not answer",
    "address": "is polled, but the answer is from another device or to another request",
    "checksum": "answers with a wrong checksum",
    "truncated": "sends only the beginning of an answer",
    "noise": "is polled, but the received bytes are not an answer",
    "parity": "answers with characters of 7 bits and a parity bit",
    "overlong": "sends more bytes than an answer has",
    "length": "answers with a wrong number of registers",
    "unsent": "cannot be polled: the port does not accept the request",
    "no_reading": "answers without a value",
    "encrypted": "answers with encrypted values",
    "form": "answers in an unknown format",
    "refused": "refuses the request",
}
_CHECK: Final = {
    "no_answer": "check its power, address, wiring and the line settings",
    "parity": 'set line = "300 7E1"',
    "unsent": "check the adapter or the connection",
}


class Answers:
    """Counters and log of the failed requests to the polled devices on one port."""

    def __init__(self, status: PortStatus) -> None:
        self._status = status
        self._failed: Counter[tuple[str, str]] = Counter()
        self._skipped: Counter[tuple[str, str, str]] = Counter()

    def note(self, outcome: Outcome, name: str, text: str) -> None:
        """Count the outcome of a request to the device `name`. `text` describes the request.

        Log the 1st, 2nd, 4th, 8th failure and so on, and the first response after several failures.
        """
        device = self._status.device(name)
        if isinstance(outcome, Damage):
            self._note_failure(outcome.reason, name, text)
            if device is not None:
                device.note_failure(outcome.reason)
            return
        if isinstance(outcome, Frame):
            self._note_skipped(outcome, name)
        if device is not None:
            if device.failed_count >= FAILED_BEFORE_NOTICE:
                logger.info(
                    "serial port %s: %s answers again after %d requests without an answer",
                    self._status.name,
                    name,
                    device.failed_count,
                )
            device.note_answer()

    def _note_failure(self, reason: str, device: str, text: str) -> None:
        self._failed[device, reason] += 1
        count = self._failed[device, reason]
        if count.bit_count() == 1:
            logger.warning(
                "serial port %s: %s %s (%s), %d since the start; %s",
                self._status.name,
                device,
                _FAULTS.get(reason, reason),
                text.removeprefix(f"{device}: "),
                count,
                _CHECK.get(reason, "check wiring, termination and the line settings"),
            )

    def _note_skipped(self, frame: Frame, device: str) -> None:
        for name, reason in frame.skipped.items():
            if reason == "no_value":
                continue  # The configuration expects it.
            self._skipped[device, name, reason] += 1
            count = self._skipped[device, name, reason]
            if count.bit_count() == 1:
                logger.warning(
                    "serial port %s: %s has no value for %s (%s), %d since the start; see type, "
                    "word_order and no_value",
                    self._status.name,
                    device,
                    name,
                    reason,
                    count,
                )

"""Devices that send at their line's rate, in a separate process: `line_writer PLAN`.

A pseudo-terminal has no rate, so this program is the clock: each millisecond it writes the bytes
that a real line would have transmitted by then. A terminal stores 12 KiB for its reader. Bytes that
it does not accept wait in this program, as they would in the 640 KiB buffer of a serial driver
(Linux, drivers/tty/tty_buffer.c). `waited_bytes_max` is the most that waited. Above 640 KiB a
driver would have lost bytes: an overrun.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.serial.lines import Device, line_of

TICK_SECONDS = 0.001


class Sender:
    """One device's line: waiting bytes, written bytes, and the time of each line's last byte."""

    def __init__(self, number: int, descriptor: int, device: Device) -> None:
        self._number = number
        self._descriptor = descriptor
        self._device = device
        self._waiting = b""
        self._lines = 0
        self._ends: list[int] = []
        self._written = 0
        self.sent_ns: list[int] = []
        self.waited_bytes_max = 0

    @property
    def is_empty(self) -> bool:
        """True if all bytes of the begun lines are written."""
        return not self._waiting

    def send(self, seconds: float, *, begin_lines: bool) -> None:
        """Write the bytes that are due by now. Without `begin_lines`, only finish the last line."""
        due = int(seconds * self._device.bytes_per_second) - self._written
        if due <= 0 and begin_lines:
            return
        while begin_lines and len(self._waiting) < due:
            line = line_of(self._number, self._lines, self._device.line_bytes)
            self._lines += 1
            self._waiting += line
            self._ends.append(self._written + len(self._waiting))
        part = self._waiting[: max(due, 0)]
        try:
            count = os.write(self._descriptor, part) if part else 0
        except BlockingIOError:
            count = 0
        self.waited_bytes_max = max(self.waited_bytes_max, len(part) - count)
        self._waiting = self._waiting[count:]
        self._written += count
        now = time.time_ns()
        while (
            len(self.sent_ns) < len(self._ends) and self._ends[len(self.sent_ns)] <= self._written
        ):
            self.sent_ns.append(now)


def run(senders: list[Sender], seconds: float) -> float:
    """Send for some seconds and finish the lines. Return the longest time between two ticks."""
    begun = before = time.monotonic()
    longest = 0.0
    while True:
        now = time.monotonic()
        longest, before = max(longest, now - before), now
        is_over = now - begun >= seconds
        for sender in senders:
            sender.send(now - begun, begin_lines=not is_over)
        if is_over and all(sender.is_empty for sender in senders):
            return longest
        time.sleep(TICK_SECONDS)


def main(plan_file: Path) -> None:
    plan: dict[str, Any] = json.loads(plan_file.read_text())
    senders = [
        Sender(number, each["descriptor"], Device(each["baud_rate"], each["line_bytes"]))
        for number, each in enumerate(plan["devices"])
    ]
    longest = run(senders, plan["seconds"])
    result = {
        "sent_ns": [sender.sent_ns for sender in senders],
        "waited_bytes_max": [sender.waited_bytes_max for sender in senders],
        "longest_tick_ms": 1000 * longest,
    }
    Path(plan["result"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

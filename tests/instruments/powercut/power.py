"""The power switch of the disk. It allows one operation at a time, and none after a cut."""

import contextlib
import json
import threading
from collections.abc import Iterator

from tests.instruments.powercut.mounted_disk import AFTER_AN_FSYNC, BEFORE_A_CHANGE, BEFORE_AN_FSYNC

_speech = threading.Lock()


def say(event: str, **more: object) -> None:
    """Send an event to the parent of this process."""
    with _speech:
        print(json.dumps({"event": event, **more}), flush=True)


class Power:
    """The power of the disk, and a lock for one operation at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_off = False
        self._instant = ""
        self._left = 0
        self._never = threading.Event()

    def arm(self, instant: str, count: int, seconds: float) -> None:
        """Arm a cut at the `count`-th such moment from now, or after `seconds`."""
        with self._lock:
            self._instant, self._left = instant, count
        timer = threading.Timer(seconds, self.switch_off, ["time"])
        timer.daemon = True
        timer.start()

    def switch_off(self, at: str) -> None:
        """Cut the power, if it is on. Nothing on the disk changes from now on."""
        with self._lock:
            self._switch_off(at)

    def _switch_off(self, at: str) -> None:
        if not self._is_off:
            self._is_off = True
            say("dark", at=at)

    @contextlib.contextmanager
    def operation(self) -> Iterator[None]:
        """Guard an operation that reads the disk. It never returns if the power is off."""
        with self._lock:
            is_off = self._is_off
            if not is_off:
                yield
        if is_off:
            self._never.wait()

    @contextlib.contextmanager
    def change(self, name: str, subject: object) -> Iterator[None]:
        """Guard an operation that changes the disk. The power may be cut before it."""
        with self._lock:
            self._count(BEFORE_A_CHANGE, f"{name} {subject}")
            if name == "fsync":
                self._count(BEFORE_AN_FSYNC, f"{name} {subject}")
            is_off = self._is_off
            if not is_off:
                yield
                if name == "fsync":
                    self._count(AFTER_AN_FSYNC, f"{name}ed {subject}")
            is_off = self._is_off
        if is_off:
            self._never.wait()

    def _count(self, instant: str, at: str) -> None:
        if instant == self._instant:
            self._left -= 1
            if self._left <= 0:
                self._switch_off(at)

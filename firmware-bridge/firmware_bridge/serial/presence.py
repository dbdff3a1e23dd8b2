"""Tracks which devices on a port are still sending. Several devices can share one line."""

import time
from collections.abc import Mapping, Sequence

# Largest number of watched devices. The outbox accepts the same number of boards.
DEVICES_WATCHED_MAX = 1024


class Presence:
    """The time of the latest frame from each device on one port."""

    def __init__(self, silent_seconds: float | None, named: Sequence[str]) -> None:
        """Start watching the devices on a port.

        Args:
            silent_seconds: a device is silent if it has sent no frame for this time. If None, no
                device is watched.
            named: devices in the port's settings. Each is absent until its first frame.
        """
        self._silent_seconds = silent_seconds
        self._begun = time.monotonic()
        self._latest: dict[str, float | None] = {}
        if silent_seconds is not None:
            self._latest = dict.fromkeys(named[:DEVICES_WATCHED_MAX])

    def note(self, device: str) -> None:
        """Record that a device has just sent a frame."""
        if self._silent_seconds is None:
            return
        if device in self._latest or len(self._latest) < DEVICES_WATCHED_MAX:
            self._latest[device] = time.monotonic()

    def note_held(self) -> None:
        """Treat all present devices as if they had just sent a frame.

        This is called while the bridge deliberately does not read the port. Otherwise, the devices
        would be considered silent.
        """
        for device, is_present in self.states().items():
            if is_present:
                self.note(device)

    def states(self) -> Mapping[str, bool]:
        """Return the availability of each watched device, keyed by name.

        A device is available if it has sent a frame recently.
        """
        if self._silent_seconds is None:
            return {}
        since = time.monotonic() - self._silent_seconds
        return {
            device: latest is not None and latest > since for device, latest in self._latest.items()
        }

    def silent(self) -> Mapping[str, float]:
        """Return the silent devices, with the number of seconds since the latest frame of each.

        For a device that has not sent a frame yet, this is the time since watching began.
        """
        if self._silent_seconds is None:
            return {}
        now = time.monotonic()
        seconds = {
            device: now - (self._begun if latest is None else latest)
            for device, latest in self._latest.items()
        }
        return {name: each for name, each in seconds.items() if each >= self._silent_seconds}

    @property
    def watched(self) -> int:
        """The number of watched devices."""
        return len(self._latest)

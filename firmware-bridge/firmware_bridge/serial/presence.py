"""Devices of a port that have sent recently: several share a line, and one of them may be gone."""

import time
from collections.abc import Mapping, Sequence

# As many devices as the outbox takes boards; of what comes beyond it no state is known.
DEVICES_WATCHED_MAX = 1024


class Presence:
    """Costs a comparison for each frame where it is not wanted, else an entry in a table."""

    def __init__(self, silent_seconds: float | None, named: Sequence[str]) -> None:
        """Watch the devices that send; those of `named` are missing until they do.

        Args:
            silent_seconds: a device that has sent nothing for so long is missing; None: none is.
            named: the devices that the protocol's settings name.
        """
        self._silent_seconds = silent_seconds
        self._begun = time.monotonic()
        self._latest: dict[str, float | None] = {}
        if silent_seconds is not None:
            self._latest = dict.fromkeys(named[:DEVICES_WATCHED_MAX])

    def note(self, device: str) -> None:
        """Note a frame of a device."""
        if self._silent_seconds is None:
            return
        if device in self._latest or len(self._latest) < DEVICES_WATCHED_MAX:
            self._latest[device] = time.monotonic()

    def note_held(self) -> None:
        """Keep the devices that are present: the port is not read, and nothing is known of them."""
        for device, is_present in self.states().items():
            if is_present:
                self.note(device)

    def states(self) -> Mapping[str, bool]:
        """Return whether each device, by its name, has sent lately."""
        if self._silent_seconds is None:
            return {}
        since = time.monotonic() - self._silent_seconds
        return {
            device: latest is not None and latest > since for device, latest in self._latest.items()
        }

    def silent(self) -> Mapping[str, float]:
        """Return the silent devices, each with its seconds since its latest frame or, where it has
        sent none, since the start."""
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
        """Number of watched devices."""
        return len(self._latest)

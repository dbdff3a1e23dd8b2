"""What all clients of one user may send in a second together. Pure.

A meter outlives the connections that it counts: who comes back gets no new burst.
"""

from gateway.core.sessions.meter import Meter
from gateway.core.sessions.owner import Owner

# Not Final: tests make it small enough to be reached.
USERS_MAX: int = 16_384
"""Users that are remembered, some 600 bytes each; the one goes that connected the longest ago. Its
clients keep the meter that they have, and the next one begins another."""


class UserMeters:
    """A meter for each user that has `packet_rate` or `byte_rate`."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}
        """Those that connected last stand last."""

    def meter_of(self, owner: Owner, now: float) -> Meter | None:
        """Return what counts the clients of a user; None: nothing is limited."""
        quota = owner.quota
        if not (quota.packet_rate or quota.byte_rate):
            self._meters.pop(owner.username, None)
            return None
        meter = self._meters.pop(owner.username, None)
        if meter is None or (meter.packet_rate, meter.byte_rate) != (
            quota.packet_rate,
            quota.byte_rate,
        ):
            meter = Meter(quota.prefix, quota.packet_rate, quota.byte_rate, now)
        self._meters[owner.username] = meter
        if len(self._meters) > USERS_MAX:
            del self._meters[next(iter(self._meters))]
        return meter

"""Rate limits of all clients of one user together, and of all clients without a user. Pure.

A meter outlives the connections that it counts, so reconnecting does not give a new burst.
"""

from gateway.broker.core.sessions.meter import Meter
from gateway.broker.core.sessions.owner import Owner

# Not Final: tests make it small enough to be reached.
USERS_MAX: int = 16_384
"""Users remembered, at most: some 600 bytes each. The one that connected longest ago is dropped
first. Its clients keep their meter, and the next one starts a new meter."""


class UserMeters:
    """A meter for each user that has `packet_rate`, `byte_rate` or `journal_bytes_per_day`."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}
        """Most recently connected users last."""

    def meter_of(self, owner: Owner, now: float) -> Meter | None:
        """Return the meter of a user's clients. None: nothing is limited."""
        quota = owner.quota
        rates = quota.packet_rate, quota.byte_rate, quota.journal_bytes_per_day
        if not any(rates):
            self._meters.pop(owner.username, None)
            return None
        meter = self._meters.pop(owner.username, None)
        if meter is None or meter.rates() != rates:
            meter = Meter(
                quota.packet_rate,
                quota.byte_rate,
                now,
                prefix=quota.prefix,
                journal_bytes_per_day=quota.journal_bytes_per_day,
            )
        self._meters[owner.username] = meter
        if len(self._meters) > USERS_MAX:
            del self._meters[next(iter(self._meters))]
        return meter

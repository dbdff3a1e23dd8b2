"""Rate limits that apply to all clients of a user together, or to all clients without a user.

A user's meter is kept after the user's connections have closed, so a client does not get a new
burst when it reconnects. This module is pure: it does no I/O and reads no clock.
"""

from gateway.broker.core.sessions.meter import Meter
from gateway.broker.core.sessions.owner import Owner

# Not Final, so that tests can use a smaller value.
USERS_MAX: int = 16_384
"""Maximum users with a meter, at about 600 bytes each. Beyond this, the user who connected longest
ago is forgotten. The user's clients keep this meter, but the next client gets a new one."""


class UserMeters:
    """The meters of users with a `packet_rate`, `byte_rate` or `journal_bytes_per_day` limit."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}
        """Meters by user name. The user who connected last is at the end."""

    def meter_of(self, owner: Owner, now: float) -> Meter | None:
        """Return the meter for a user's clients, or None if the user has no rate limits."""
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

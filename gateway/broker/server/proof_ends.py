"""Expiry of proofs for users that are in no list: those of tokens, certificates and proxies.

No source reports when such a user is removed. A stored session therefore continues to receive
messages for `sessions_outlive_proof` after its user's last proof has expired. Then the user counts
as removed: the session receives nothing until its client returns with a proof. An open connection
counts as a proof.
"""

from collections.abc import Mapping
from typing import Final

from gateway.broker.core.broker import Broker

DAY_MS: Final = 86_400_000
"""Expiry times are rounded up to days, so that a device with hourly tokens changes its line once a
day."""

LOOK_SECONDS: Final = 10.0
"""Interval of checks for expired proofs."""

Ends = Mapping[str, int | None]
"""In milliseconds of gateway time; None: a database proved the user, and is queried regularly."""


class ProofEnds:
    """Stores when the proofs of users expire."""

    def __init__(self, broker: Broker, ends: Ends) -> None:
        """Start with the expiry times stored by the last run."""
        self._broker = broker
        self._time = broker.state.time
        self.ends: dict[str, int | None] = dict(ends)
        self._listed: frozenset[str] = frozenset()
        self._outlived_ms: int | None = None
        self._looks_at = float("-inf")

    def take(
        self,
        listed: frozenset[str] | None,
        outlived_seconds: float | None,
        *,
        has_database: bool,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Apply settings.

        A user of a stored session without any record counts as proven until now: the session is
        from an earlier version, or a power cut lost the record.

        Args:
            listed: users that are in a list; None: all are, or users are not authenticated.
            outlived_seconds: how long sessions outlive a proof; None: unlimited.
            has_database: a user may be in a database, which is queried.
            gone: users known to be removed.
        """
        self._outlived_ms = None
        if listed is None:
            self.ends = {}
            return
        self._listed = listed
        if outlived_seconds is not None:
            self._outlived_ms = int(outlived_seconds * 1000)
        for name in self._owners() - listed - gone - {*self.ends}:
            self.ends[name] = None if has_database else self._rounded(self._time.time_ms)
        for name in listed:
            self.ends.pop(name, None)

    def note(self, username: str, seconds: float | None, now: float) -> None:
        """Record for how many seconds a user is proven; None: its source is queried regularly."""
        if username in self._listed:
            return
        if seconds is None:
            self.ends[username] = None
            return
        self._time.advance(now)
        end_ms = self._rounded(self._time.time_ms + int(seconds * 1000))
        before = self.ends.get(username)
        self.ends[username] = end_ms if before is None else max(before, end_ms)

    def over(self, now: float) -> frozenset[str]:
        """Return the users whose proof expired too long ago, and forget them."""
        if self._outlived_ms is None or now < self._looks_at:
            return frozenset()
        self._looks_at = now + LOOK_SECONDS
        self._time.advance(now)
        late = {
            name
            for name, end_ms in self.ends.items()
            if end_ms is not None and self._time.age_ms(end_ms) > self._outlived_ms
        }
        if not late:
            return frozenset()
        connected = {
            session.username
            for session in self._broker.state.sessions.values()
            if session.username in late and session.connection is not None
        }
        for name in late:
            if name in connected:
                self.ends[name] = self._rounded(self._time.time_ms)
            else:
                del self.ends[name]
        return frozenset(late - connected)

    def of_sessions(self) -> dict[str, int | None]:
        """Return the expiry times to store, and forget users without sessions."""
        owners = self._owners()
        self.ends = {name: end for name, end in self.ends.items() if name in owners}
        return dict(self.ends)

    def _owners(self) -> set[str]:
        sessions = self._broker.state.sessions.values()
        return {each.username for each in sessions if each.username is not None}

    def _rounded(self, time_ms: int) -> int:
        return -(-time_ms // DAY_MS) * DAY_MS

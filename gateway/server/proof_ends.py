"""Until when users are proven whom no list has: by a token, a certificate, or through a proxy.

No source reports that such a user is gone. So a stored session of theirs goes on receiving for
`sessions_outlive_proof` after the end of what proved them last, and then is one of a user who is
gone: it receives nothing until its client is back with a proof. An open connection is a proof.
"""

from collections.abc import Mapping
from typing import Final

from gateway.core.broker import Broker

DAY_MS: Final = 86_400_000
"""Ends are rounded up to days: a device with a token each hour changes its line once a day."""

LOOK_SECONDS: Final = 10.0
"""Between two looks at who is over."""

Ends = Mapping[str, int | None]
"""In milliseconds of gateway time; None: a database proved the user, and is asked about it."""


class ProofEnds:
    """Knows when the proofs of users end."""

    def __init__(self, broker: Broker, ends: Ends) -> None:
        """Begin with the ends that the last run kept."""
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
        """Let these settings hold.

        A user of a stored session of whom nothing is known is proven until now: by an earlier
        version, or before a power cut.

        Args:
            listed: users who are in a list; None: all are, or none is proven.
            outlived_seconds: how long sessions go on after a proof; None: without limit.
            has_database: a user may be one of a database, which is asked.
            gone: users who are known to be gone already.
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
        """Note that a user is proven for so long; None: by what is asked about it."""
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
        """Return the users whose proof is over for too long, and forget it."""
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
        """Return what is to be kept, and forget users who have no session."""
        owners = self._owners()
        self.ends = {name: end for name, end in self.ends.items() if name in owners}
        return dict(self.ends)

    def _owners(self) -> set[str]:
        sessions = self._broker.state.sessions.values()
        return {each.username for each in sessions if each.username is not None}

    def _rounded(self, time_ms: int) -> int:
        return -(-time_ms // DAY_MS) * DAY_MS

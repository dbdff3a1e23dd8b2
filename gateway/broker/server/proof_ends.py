"""Tracks the expiry of authentications by token, by certificate or through a proxy.

Users who log in this way are not in any list that the broker can read, so the broker cannot notice
when such a user is removed. Instead, the broker uses the time of each user's last login. After a
user's authentication has expired, the user's stored sessions still receive messages for the
configured time `sessions_outlive_proof`. After that time, a session receives nothing until its
client logs in again. A user with an open connection counts as authenticated.
"""

from collections.abc import Mapping
from typing import Final

from gateway.broker.core.broker import Broker

DAY_MS: Final = 86_400_000
"""One day. Expiry times are rounded up to days: a device with hourly tokens then changes the stored
file only once a day."""

CHECK_SECONDS: Final = 10.0
"""Interval of the check for users whose authentication has expired."""

Ends = Mapping[str, int | None]
"""Expiry times, keyed by user name, in milliseconds of gateway time. None marks a user from a
database, which is queried regularly instead."""


class ProofEnds:
    """The times at which the users' authentications expire."""

    def __init__(self, broker: Broker, ends: Ends) -> None:
        """Set the broker core, and load `ends`, the expiry times that the last run stored."""
        self._broker = broker
        self._time = broker.state.time
        self.ends: dict[str, int | None] = dict(ends)
        self._listed: frozenset[str] = frozenset()
        self._outlived_ms: int | None = None
        self._next_check = float("-inf")

    def take(
        self,
        listed: frozenset[str] | None,
        outlived_seconds: float | None,
        *,
        has_database: bool,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Apply the current lists of users and the configured limit.

        A power cut can lose the expiry time of a user who has a stored session. If such a user is
        not listed, the authentication counts as expiring now.

        Args:
            listed: users in the password file. None if authentications do not expire, because all
                users can be listed or clients are not authenticated. All expiry times are then
                deleted.
            outlived_seconds: how long sessions outlive an authentication, or None if unlimited.
            has_database: True if users can also be in a database. A user whose expiry time was lost
                then counts as a user from the database, whose authentication does not expire.
            gone: users who are known to have been removed.
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
        """Record that a user is authenticated for the next `seconds`.

        `seconds` is None if the user is in a database, which is queried regularly. `now` is
        monotonic time in seconds.
        """
        if username in self._listed:
            return
        if seconds is None:
            self.ends[username] = None
            return
        self._time.advance(now)
        end_ms = self._rounded(self._time.time_ms + int(seconds * 1000))
        before = self.ends.get(username)
        self.ends[username] = end_ms if before is None else max(before, end_ms)

    def take_expired(self, now: float) -> frozenset[str]:
        """Return the users whose authentication expired longer ago than the configured limit.

        The expiry times of these users are deleted. Users with an open connection are never
        returned. The check runs only once per `CHECK_SECONDS`, and calls in between return an empty
        set.
        """
        if self._outlived_ms is None or now < self._next_check:
            return frozenset()
        self._next_check = now + CHECK_SECONDS
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

    def to_store(self) -> dict[str, int | None]:
        """Return the times at which the users' authentications expire, for storage on disk.

        Only users who have a session are included. The expiry times of all other users are deleted
        from `ends`.
        """
        owners = self._owners()
        self.ends = {name: end for name, end in self.ends.items() if name in owners}
        return dict(self.ends)

    def _owners(self) -> set[str]:
        sessions = self._broker.state.sessions.values()
        return {each.username for each in sessions if each.username is not None}

    def _rounded(self, time_ms: int) -> int:
        return -(-time_ms // DAY_MS) * DAY_MS

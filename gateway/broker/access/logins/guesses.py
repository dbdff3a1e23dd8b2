"""The record of wrong passwords, from which the delay of the next check is calculated.

Failures are counted in three bounded tables: per origin (address), per user, and per pair of origin
and user. If the same pair sends the same wrong password again, for example because a device has an
outdated password, the failure is not counted as a new guess from the origin. Counts halve every
minute.

A pair with a recent successful login is *known*. Guesses by other pairs do not delay a known pair,
so a stranger cannot lock a user out. Functions that need the time take it as an argument, in
seconds on a monotonic clock.
"""

import hashlib
import secrets
from collections import OrderedDict

FREE_FAILURES = 5
"""Failures that cause no delay. People mistype, and a device may still have an old password."""

DELAY_SECONDS_FIRST = 0.25
"""Delay after the first failure beyond FREE_FAILURES. Each further failure doubles the delay."""

ORIGIN_DELAY_SECONDS_MAX = 4.0
"""Longest delay between two checks for one origin, or for one pair of origin and user.

It allows about 20,000 guesses a day. A correct login of another user at the same address still
succeeds within `connect_timeout`, 10 s.
"""

USER_DELAY_SECONDS_MAX = 2.0
"""Longest delay that guesses from other addresses cause for a user at a new address.

The delay begins when more than FREE_FAILURES addresses have guessed the user's password.
"""

HALF_LIFE_SECONDS = 60.0
"""Time in which a failure count falls to half, in seconds."""

REMEMBERED_MAX = 4_096
"""Entries of each failure table, at most. An entry takes about 200 bytes.

The entry with the oldest failure is dropped first.
"""

KNOWN_MAX = 4_096
"""Known pairs of origin and user, at most. A pair takes about 100 bytes.

The pair whose last successful login is the oldest is dropped first.
"""

FAILURES_OF_KNOWN_MAX = 5
"""Failures since its last success after which a known pair of origin and user is forgotten."""


class FailureCount:
    """Count and latest time of the failed logins of an origin, a user or a pair of both."""

    __slots__ = ("at", "count", "password")

    def __init__(self) -> None:
        self.count = 0.0
        """The failure count at the time `at`."""
        self.at = 0.0
        self.password = b""
        """Digest of the last wrong password."""


class Failures:
    """A bounded table of failure counts, keyed by origin, by user, or by both."""

    def __init__(self, delay_seconds_max: float) -> None:
        self._delay_seconds_max = delay_seconds_max
        self._entries: OrderedDict[bytes, FailureCount] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of keys in the table."""
        return len(self._entries)

    def add(self, key: bytes, now: float) -> FailureCount:
        """Count one more failure for a key, and return the key's table entry."""
        entry = self._entries.setdefault(key, FailureCount())
        entry.count = _decayed(entry, now) + 1
        entry.at = now
        self._entries.move_to_end(key)
        if len(self._entries) > REMEMBERED_MAX:
            self._entries.popitem(last=False)
        return entry

    def forget(self, key: bytes) -> None:
        """Remove the entry of a key from the table, if the entry exists."""
        self._entries.pop(key, None)

    def get(self, key: bytes) -> FailureCount | None:
        """Return the entry of a key, or None if the table has no entry for this key."""
        return self._entries.get(key)

    def delay_seconds(self, key: bytes, now: float) -> float:
        """Return the delay, in seconds, of a login at time `now`.

        The delay depends on the earlier failures that are counted under `key`. The key identifies
        an origin, a user, or a pair of both.
        """
        entry = self._entries.get(key)
        if entry is None:
            return 0.0
        return self._delay_seconds_of(_decayed(entry, now))

    def free_at(self, key: bytes) -> float:
        """Return the time at which the next check for a key may start."""
        entry = self._entries.get(key)
        if entry is None:
            return 0.0
        return entry.at + self._delay_seconds_of(entry.count)

    def _delay_seconds_of(self, count: float) -> float:
        excess = count - FREE_FAILURES
        if excess <= 0:
            return 0.0
        # 2 ** 10 exceeds every maximum.
        return min(self._delay_seconds_max, DELAY_SECONDS_FIRST * 2 ** (min(excess, 11) - 1))


def _decayed(entry: FailureCount, now: float) -> float:
    return float(entry.count * 0.5 ** ((now - entry.at) / HALF_LIFE_SECONDS))


class LoginKeys:
    """Keys of a login in the three failure tables: for its origin, its user, and the pair of both.

    Each key is a digest of fixed length, because names can be 64 KiB long.
    """

    __slots__ = ("origin", "pair", "user")

    def __init__(self, origin: bytes, user: bytes, pair: bytes) -> None:
        self.origin = origin
        self.user = user
        self.pair = pair


class Guesses:
    """Record of failed and successful logins per origin (address) and user."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._origins = Failures(ORIGIN_DELAY_SECONDS_MAX)
        self._users = Failures(USER_DELAY_SECONDS_MAX)
        self._pairs = Failures(ORIGIN_DELAY_SECONDS_MAX)
        self._known: OrderedDict[bytes, int] = OrderedDict()
        """Number of failures of each known pair of origin and user since its last success."""

    @property
    def tables(self) -> tuple[Failures, Failures, Failures]:
        """The three tables of failed logins: per origin, per user, and per pair of both."""
        return self._origins, self._users, self._pairs

    def keys_of(self, origin: str, username: str) -> LoginKeys:
        """Return the table keys of a login from `origin` as `username`."""
        return LoginKeys(
            self._digest(b"origin", origin.encode()),
            self._digest(b"user", username.encode()),
            self._digest(b"pair", origin.encode() + b"\0" + username.encode()),
        )

    def record_failure(self, keys: LoginKeys, password: bytes | None, now: float) -> None:
        """Record a failed login of a user from an origin. `keys` identifies both.

        Repeated failures with the same password, by the same user from the same origin, count as
        one guess from this origin.
        """
        before = self._pairs.get(keys.pair)
        digest = self._digest(b"password", password or b"")
        if before is None or before.password != digest:
            self._origins.add(keys.origin, now)
        if before is None or now - before.at > HALF_LIFE_SECONDS:
            # Counted once per address, because repeated failures delay only their own address.
            self._users.add(keys.user, now)
        self._pairs.add(keys.pair, now).password = digest
        if keys.pair in self._known:
            self._known[keys.pair] += 1
            if self._known[keys.pair] >= FAILURES_OF_KNOWN_MAX:
                del self._known[keys.pair]

    def record_success(self, keys: LoginKeys) -> None:
        """Record a successful login of a user from an origin. `keys` identifies both."""
        self._pairs.forget(keys.pair)
        self._known[keys.pair] = 0
        self._known.move_to_end(keys.pair)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    def is_known(self, keys: LoginKeys) -> bool:
        """Return True if a user has recently logged in from an origin. `keys` identifies both."""
        return keys.pair in self._known

    def is_suspect(self, keys: LoginKeys) -> bool:
        """Return True if logins from the origin that `keys` identifies have recently failed."""
        return self._origins.get(keys.origin) is not None

    def user_wait_seconds(self, keys: LoginKeys, now: float) -> float:
        """Return how many seconds a login is delayed because of the user's earlier failures.

        A user who recently logged in from the same origin is not delayed.
        """
        return 0.0 if self.is_known(keys) else self._users.delay_seconds(keys.user, now)

    def free_at(self, keys: LoginKeys) -> float:
        """Return the earliest time at which a login may be checked.

        Earlier failures of the same user from the same origin delay the login. Failures of other
        users from this origin delay it too, unless the user recently logged in from this origin.
        """
        free_at = self._pairs.free_at(keys.pair)
        if self.is_known(keys):
            return free_at
        return max(free_at, self._origins.free_at(keys.origin))

    def _digest(self, kind: bytes, text: bytes) -> bytes:
        return hashlib.blake2b(text, digest_size=16, key=self._key, person=kind).digest()

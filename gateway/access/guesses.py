"""What is remembered of wrong passwords, and how long the next check has to wait for it.

Three things are counted, each in a table of its own with a bound: failures of an origin (an
address), of a user, and of a pair of both. A password that the same pair sends again is no new
guess: a device with an old password counts for its pair only. Counts halve every minute.

A pair that was right lately is *known*. It is not delayed for what others have guessed, so that no
stranger can lock a user out. Time is an argument, in seconds that only grow.
"""

import hashlib
import secrets
from collections import OrderedDict

FREE_FAILURES = 5
"""Mistakes that cost nothing: a person types, a device is given its new password."""

DELAY_SECONDS_FIRST = 0.25
"""After one failure more; each further one doubles it."""

ORIGIN_DELAY_SECONDS_MAX = 4.0
"""Between two checks for one origin, or one pair: some 20,000 guesses a day. With another user of
the same address between them a right login still comes within `connect_timeout`, 10 s."""

USER_DELAY_SECONDS_MAX = 2.0
"""What a right login waits at most, from an address that was never right, for what more than
FREE_FAILURES other addresses have guessed about its user."""

HALF_LIFE_SECONDS = 60.0
"""A failure counts half after a minute."""

REMEMBERED_MAX = 4_096
"""Entries of each table, some 200 bytes each; the one goes whose last failure is the oldest."""

KNOWN_MAX = 4_096
"""Pairs that were right, 100 bytes each; the one goes that was right the longest ago."""

FAILURES_OF_KNOWN_MAX = 5
"""A pair that fails so often since it was last right is not known any more."""


class Failed:
    """Failures of one key."""

    __slots__ = ("at", "count", "password")

    def __init__(self) -> None:
        self.count = 0.0
        """As of `at`."""
        self.at = 0.0
        self.password = b""
        """A digest of the last one that was wrong."""


class Failures:
    """A bounded table of failures by key."""

    def __init__(self, delay_seconds_max: float) -> None:
        self._delay_seconds_max = delay_seconds_max
        self._entries: OrderedDict[bytes, Failed] = OrderedDict()

    def __len__(self) -> int:
        """Return how many keys are remembered."""
        return len(self._entries)

    def add(self, key: bytes, now: float) -> Failed:
        """Count one failure more."""
        entry = self._entries.setdefault(key, Failed())
        entry.count = _decayed(entry, now) + 1
        entry.at = now
        self._entries.move_to_end(key)
        if len(self._entries) > REMEMBERED_MAX:
            self._entries.popitem(last=False)
        return entry

    def forget(self, key: bytes) -> None:
        """Count no failure of the key."""
        self._entries.pop(key, None)

    def get(self, key: bytes) -> Failed | None:
        """Return what is remembered of the key."""
        return self._entries.get(key)

    def delay_seconds(self, key: bytes, now: float) -> float:
        """Return how long the key's failures, as they count now, delay a check."""
        entry = self._entries.get(key)
        if entry is None:
            return 0.0
        return self._delay_seconds_of(_decayed(entry, now))

    def free_at(self, key: bytes) -> float:
        """Return when the next check for the key may begin."""
        entry = self._entries.get(key)
        if entry is None:
            return 0.0
        return entry.at + self._delay_seconds_of(entry.count)

    def _delay_seconds_of(self, count: float) -> float:
        excess = count - FREE_FAILURES
        if excess <= 0:
            return 0.0
        # 2 ** 10 is beyond every maximum.
        return min(self._delay_seconds_max, DELAY_SECONDS_FIRST * 2 ** (min(excess, 11) - 1))


def _decayed(entry: Failed, now: float) -> float:
    return float(entry.count * 0.5 ** ((now - entry.at) / HALF_LIFE_SECONDS))


class Place:
    """A login's keys in the tables. Names may be 64 KiB long: keyed digests stand for them."""

    __slots__ = ("origin", "pair", "user")

    def __init__(self, origin: bytes, user: bytes, pair: bytes) -> None:
        self.origin = origin
        self.user = user
        self.pair = pair


class Guesses:
    """Failures and right logins by origin and user."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._origins = Failures(ORIGIN_DELAY_SECONDS_MAX)
        self._users = Failures(USER_DELAY_SECONDS_MAX)
        self._pairs = Failures(ORIGIN_DELAY_SECONDS_MAX)
        self._known: OrderedDict[bytes, int] = OrderedDict()
        """The failures of each pair since it was last right."""

    @property
    def tables(self) -> tuple[Failures, Failures, Failures]:
        """Failures by origin, by user and by pair."""
        return self._origins, self._users, self._pairs

    def place_of(self, origin: str, username: str) -> Place:
        """Return the keys of a login."""
        return Place(
            self._digest(b"origin", origin.encode()),
            self._digest(b"user", username.encode()),
            self._digest(b"pair", origin.encode() + b"\0" + username.encode()),
        )

    def failed(self, place: Place, password: bytes | None, now: float) -> None:
        """Remember that a login was wrong. Without a password, all of a pair are alike."""
        before = self._pairs.get(place.pair)
        digest = self._digest(b"password", password or b"")
        if before is None or before.password != digest:
            self._origins.add(place.origin, now)
        if before is None or now - before.at > HALF_LIFE_SECONDS:
            # Once for each address: what one address does is its own delay's business.
            self._users.add(place.user, now)
        self._pairs.add(place.pair, now).password = digest
        if place.pair in self._known:
            self._known[place.pair] += 1
            if self._known[place.pair] >= FAILURES_OF_KNOWN_MAX:
                del self._known[place.pair]

    def succeeded(self, place: Place) -> None:
        """Remember that a user was let in from there."""
        self._pairs.forget(place.pair)
        self._known[place.pair] = 0
        self._known.move_to_end(place.pair)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    def is_known(self, place: Place) -> bool:
        """Return whether the user was let in from there lately."""
        return place.pair in self._known

    def is_suspect(self, place: Place) -> bool:
        """Return whether there was a failure from there lately."""
        return self._origins.get(place.origin) is not None

    def user_wait_seconds(self, place: Place, now: float) -> float:
        """Return how long a login waits from now on for what was guessed about its user."""
        return 0.0 if self.is_known(place) else self._users.delay_seconds(place.user, now)

    def free_at(self, place: Place) -> float:
        """Return when a login may be checked, as far as its origin and its pair have failed."""
        free_at = self._pairs.free_at(place.pair)
        if self.is_known(place):
            return free_at
        return max(free_at, self._origins.free_at(place.origin))

    def _digest(self, kind: bytes, text: bytes) -> bytes:
        return hashlib.blake2b(text, digest_size=16, key=self._key, person=kind).digest()

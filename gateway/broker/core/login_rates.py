"""Limits on the number of logins per second of each user.

Only authenticated logins are counted, so strangers cannot lock a user out. While a user exceeds the
limit, the user's logins are rejected without checking the password. This module is pure: it does no
I/O and reads no clock.
"""

from typing import Final

from gateway.broker.core.limits import Limits
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.token_bucket import TokenBucket

BURST_SECONDS: Final = 10.0
"""Size of the burst allowed after a pause, in seconds of the rate: the devices of a user reconnect
together after an outage."""

# Not Final, so that tests can use a smaller value.
USERS_MAX: int = 16_384
"""Maximum users whose logins are counted, at about 300 bytes each. Beyond this, the user who logged
in longest ago is forgotten."""

LOGIN_RATE: Final = "login_rate"


class LoginRates:
    """Counter of the logins of users whose quota has a `login_rate`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buckets: dict[str, TokenBucket] = {}
        """Token buckets by user name, the latest login last."""

    def take(self, owner: Owner, now: float) -> str:
        """Count an authenticated login of a user. `owner` contains the user's counters.

        Return the name of the exceeded limit, or "" if the login is within the rate.
        """
        rate = owner.quota.login_rate
        if not rate:
            return ""
        bucket = self._buckets.pop(owner.username, None)
        if bucket is None or bucket.rate != rate:
            bucket = TokenBucket(float(rate), rate * BURST_SECONDS, now)
        self._buckets[owner.username] = bucket
        if len(self._buckets) > USERS_MAX:
            del self._buckets[next(iter(self._buckets))]
        return "" if bucket.take(now) else owner.quota.prefix + LOGIN_RATE

    def limit_exceeded_by_login(self, username: str, now: float) -> str:
        """Return the name of the limit that another login of a user would exceed, or "" if none.

        This call does not count a login. `take` counts it after the user has been authenticated.
        """
        bucket = self._buckets.get(username)
        if bucket is None or bucket.has_token(now):
            return ""
        # The quota is looked up only here, because the lookup compares the name with patterns.
        quota = self._limits.quotas.quota_of(username)
        return quota.prefix + LOGIN_RATE if bucket.rate == quota.login_rate else ""

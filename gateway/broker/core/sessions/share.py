"""Limits and usage shared by all clients of one listener or one address.

This module is pure: it does no I/O and reads no clock.
"""

from typing import Final

from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.sessions.meter import Meter
from gateway.broker.core.token_bucket import TokenBucket

LISTENER: Final = "listener_"
"""Prefix of the names of a listener's limits, in counters and in the log."""

LOGIN_BURST_SECONDS: Final = 10.0
"""Size of a burst after a pause, in seconds of the rate: all clients return after an outage."""


class Share:
    """Limits shared by all clients of a listener or an address.

    A rate of 0 means unlimited. Clients and sessions that exceed a lowered limit are kept.
    """

    def __init__(
        self, connections_max: int = NO_LIMIT, prefix: str = LISTENER, suffix: str = ""
    ) -> None:
        """Set the maximum number of connections. All rates are unlimited at first.

        `prefix` and `suffix` are the beginning and the end of each limit's name, as shown to
        operators.
        """
        self.prefix = prefix
        self.suffix = suffix
        self.connections_max = connections_max
        self.connections_open = 0
        self.client_packet_rate = 0
        self.client_byte_rate = 0
        """Bytes per second of each client."""
        self.sessions_max = NO_LIMIT
        self.sessions = 0
        """Sessions whose last connection since the broker's start was counted here."""
        self.login_rate = 0
        self.packet_rate = 0
        self.byte_rate = 0
        """Bytes per second of all clients together."""
        self._meter: Meter | None = None
        self._logins: TokenBucket | None = None

    def name_of(self, limit: str) -> str:
        """Return a limit's name with prefix and suffix, as used in counters and in the log."""
        return self.prefix + limit + self.suffix

    def meters(self, now: float) -> tuple[Meter, ...]:
        """Return the meters that limit a new connection.

        One meter applies to this connection alone, and another to all connections that share the
        limits. A meter is omitted if its rates are unlimited.
        """
        found: tuple[Meter, ...] = ()
        if self.client_packet_rate or self.client_byte_rate:
            found = (
                Meter(
                    self.client_packet_rate,
                    self.client_byte_rate,
                    now,
                    prefix="max_",
                    is_per_connection=True,
                ),
            )
        if not (self.packet_rate or self.byte_rate):
            self._meter = None
            return found
        meter = self._meter
        if meter is None or meter.rates() != (self.packet_rate, self.byte_rate, 0):
            meter = self._meter = Meter(
                self.packet_rate, self.byte_rate, now, prefix=self.prefix, suffix=self.suffix
            )
        return (*found, meter)

    def has_login_left(self, now: float) -> bool:
        """Return True if the login rate allows another login. This call does not count a login."""
        logins = self._logins
        return not self.login_rate or logins is None or logins.has_token(now)

    def take_login(self, now: float) -> bool:
        """Count a login. Return False if the login exceeds the login rate."""
        rate = float(self.login_rate)
        if not rate:
            return True
        if self._logins is None or self._logins.rate != rate:
            self._logins = TokenBucket(rate, rate * LOGIN_BURST_SECONDS, now)
        return self._logins.take(now)

    def is_idle(self, now: float) -> bool:
        """Return True if no client uses these limits now, so they can be discarded."""
        return not self.sessions and (self._meter is None or self._meter.is_full(now))

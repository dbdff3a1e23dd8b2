"""Limits the open connections and the new connections per second of each client address.

The limits are checked when a connection is accepted. Sessions and message rates per address are
limited by the broker core. A rejected connection costs only one table lookup: nothing is read from
it, and the core is not involved. IPv6 addresses are counted by their first 64 bits, because one
machine can use any address that starts with these bits. All link-local addresses start with the
same 64 bits, so they are counted individually.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final

from gateway.broker.core.bans import BANNED_REASON
from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.sessions.share import Share
from gateway.broker.core.statistics import Statistics
from gateway.broker.core.token_bucket import TokenBucket
from gateway.broker.server.listeners.banned_networks import Address, BannedNetworks, Network
from gateway.configuration import Configuration
from gateway.process.files import descriptors

ENTRIES_MAX: int = 16_384
"""Maximum number of addresses stored without an open connection, which take 5 MB. Beyond it, the
address that has been without a connection for the longest time is removed, and may use its full
burst again."""

BURST_SECONDS: Final = 10.0
"""Size of the allowed burst of new connections, in seconds of the configured rate. Machines that
share an address reconnect together after an outage."""

SECONDS_BETWEEN_LINES: Final = 60.0
"""Shortest time between two log lines about the same address."""

EXAMINED_MAX: Final = 8
"""Maximum number of entries examined per new address to find entries that can be removed."""

CONNECTIONS_REFUSED: Final = "max_connections_per_address"
RATE_REFUSED: Final = "max_connection_rate_per_address"
LISTENER_RATE_REFUSED: Final = "max_connection_rate"
"""Name in the status's `errors` for connections refused because of their listener's rate limit. The
configuration key has the same name."""

LOOPBACK: Final[tuple[Network, ...]] = (
    ipaddress.ip_network("127.0.0.0/8"),
    ipaddress.ip_network("::1/128"),
)
"""Networks of programs on this machine, such as the bridge, whose connections are never counted."""

_HOST_BITS: Final = 64


@dataclass(frozen=True)
class AddressSettings:
    """Configured limits that apply to each address. 0 means unlimited."""

    connections_max: int
    """Maximum number of open connections."""
    rate: int
    """Maximum number of new connections per second."""
    exempt: tuple[Network, ...] = ()
    """Networks without limits, in addition to loopback."""
    sessions_max: int = 0
    packet_rate: int = 0
    byte_rate: int = 0
    """Maximum number of bytes per second from all clients of the address."""

    @property
    def limits_nothing(self) -> bool:
        """True if no limit is set, so that addresses need not be counted."""
        return not (self.connections_max or self.rate or self.limits_clients)

    @property
    def limits_clients(self) -> bool:
        """True if a limit on sessions or on rates is set. The broker core enforces these limits."""
        return bool(self.sessions_max or self.packet_rate or self.byte_rate)


class Entry:
    """Counters of connections from one address."""

    def __init__(self, bucket: TokenBucket) -> None:
        self.open_count = 0
        self.bucket = bucket
        self.share: Share | None = None
        self.next_line_at = 0.0
        self.refused_count = 0
        """Number of refused connections since the last log line."""

    def is_idle(self, now: float) -> bool:
        """Return True if the entry no longer affects any limit and can be removed."""
        is_idle = not self.open_count and self.bucket.is_full(now)
        return is_idle and (self.share is None or self.share.is_idle(now))


class AddressLimits:
    """Limits and counters of the connections from each address. Rejects banned networks."""

    def __init__(self, statistics: Statistics, settings: AddressSettings) -> None:
        self._statistics = statistics
        self._settings = settings
        self._entries: dict[str, Entry] = {}
        """Counters by address. The addresses with the most recent connections come last."""
        self.exempt = LOOPBACK + settings.exempt
        self.banned = BannedNetworks([])
        """The banned networks. Exempt addresses can be banned too: an operator named them, or their
        client was flapping."""
        self._next_banned_line_at = 0.0

    def replace_settings(self, settings: AddressSettings, now: float) -> None:
        """Replace the limits for each address. No open connection is closed."""
        if settings == self._settings:
            return
        self._settings = settings
        self.exempt = LOOPBACK + settings.exempt
        for entry in self._entries.values():
            entry.bucket = self._new_bucket(now)
            if entry.share is not None:
                self._assign(entry.share)

    def is_exempt(self, address: Address) -> bool:
        """Return True if an address is exempt from limits.

        Loopback addresses are always exempt. Other addresses can be exempted in the configuration.
        """
        return any(address in network for network in self.exempt)

    def enter(self, address: Address | None, now: float) -> tuple[str, str]:
        """Check a new connection against the limits and the bans, and count the connection.

        `address` is None if the connection has no network address.

        Returns:
            Two strings: the reason for rejecting the connection, and the key to pass to `leave`.
            The reason is empty if the connection is accepted. The key is empty if the connection is
            not counted.
        """
        settings = self._settings
        if address is not None and self.banned and address in self.banned:
            return self._banned(address, now), ""
        if address is None or self.is_exempt(address):
            return "", ""
        if settings.limits_nothing:
            return "", ""
        key = key_of(address)
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = Entry(self._new_bucket(now))
            self._make_room()
        self._entries[key] = entry
        if settings.connections_max and entry.open_count >= settings.connections_max:
            return self._refused(entry, key, CONNECTIONS_REFUSED, now), ""
        if settings.rate and not entry.bucket.take(now):
            return self._refused(entry, key, RATE_REFUSED, now), ""
        entry.open_count += 1
        return "", key

    def leave(self, key: str, now: float) -> None:
        """Count the end of a connection. `key` is the key that `enter` returned."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.open_count -= 1
        if entry.is_idle(now):
            del self._entries[key]

    def share_of(self, key: str) -> Share | None:
        """Return the limits that all clients of an address share, or None if there are none.

        `key` identifies the address. It is the key that `enter` returned.
        """
        entry = self._entries.get(key)
        if entry is None or not self._settings.limits_clients:
            return None
        if entry.share is None:
            entry.share = Share(prefix="max_", suffix="_per_address")
            self._assign(entry.share)
        return entry.share

    def _assign(self, share: Share) -> None:
        settings = self._settings
        share.sessions_max = settings.sessions_max or NO_LIMIT
        share.packet_rate, share.byte_rate = settings.packet_rate, settings.byte_rate

    def _refused(self, entry: Entry, key: str, reason: str, now: float) -> str:
        entry.refused_count += 1
        if now >= entry.next_line_at:
            self._statistics.note(
                f"{entry.refused_count} connections from {key} refused: {reason} reached"
            )
            entry.refused_count = 0
            entry.next_line_at = now + SECONDS_BETWEEN_LINES
        return reason

    def _banned(self, address: Address, now: float) -> str:
        if now >= self._next_banned_line_at:
            self._statistics.note(f"connections of banned addresses are refused, {address} last")
            self._next_banned_line_at = now + SECONDS_BETWEEN_LINES
        return BANNED_REASON

    def _new_bucket(self, now: float) -> TokenBucket:
        rate = float(max(1, self._settings.rate))
        return TokenBucket(rate, rate * BURST_SECONDS, now)

    def _make_room(self) -> None:
        """If too many addresses are stored, remove some that have no connections and no sessions.

        All other addresses are kept. Their number is bounded by the limits on connections and
        sessions.
        """
        for key in list(_first(self._entries, EXAMINED_MAX)):
            if len(self._entries) < ENTRIES_MAX:
                return
            entry = self._entries.pop(key)
            if entry.open_count or (entry.share is not None and entry.share.sessions):
                self._entries[key] = entry


def address_settings_of(configuration: Configuration) -> AddressSettings:
    """Return the limits from `[quotas]`.

    By default, one address can have half of the maximum number of connections.
    """
    quotas = configuration.quotas
    half = max(1, descriptors.connections_within(configuration.mqtt.max_connections) // 2)
    return AddressSettings(
        connections_max=quotas.max_connections_per_address or half,
        rate=quotas.max_connection_rate_per_address,
        exempt=tuple(ipaddress.ip_network(each) for each in quotas.exempt_addresses),
        sessions_max=quotas.max_sessions_per_address or 0,
        packet_rate=quotas.max_packet_rate_per_address or 0,
        byte_rate=quotas.max_byte_rate_per_address or 0,
    )


def _first(entries: dict[str, Entry], count: int) -> list[str]:
    return [key for key, _ in zip(entries, range(count), strict=False)]


def address_in(text: str) -> Address | None:
    """Return the IP address in a string of the form `HOST:PORT` or `[HOST]:PORT`.

    Return None if HOST is not an IP address.
    """
    host = text.rpartition(":")[0].strip("[]")
    return address_of(host)


def address_of(host: str) -> Address | None:
    """Parse an IP address, or return None if the string is not an IP address.

    An IPv4 address that is mapped to IPv6 is returned as an IPv4 address.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def key_of(address: Address) -> str:
    """Return the key under which an address is counted.

    For most IPv6 addresses, the key is the /64 network that contains the address. For IPv4 and
    link-local addresses, the key is the address itself.
    """
    if isinstance(address, ipaddress.IPv4Address) or address.is_link_local:
        return str(address)
    network = int(address) >> _HOST_BITS << _HOST_BITS
    return f"{ipaddress.IPv6Address(network)}/{_HOST_BITS}"

"""Limits of one address: connections and new connections per second, checked at accept.

The sessions and rates of an address's clients are limited as well; the core counts those. Nothing
is read from a rejected connection and the core never sees it, so it costs one table lookup. IPv6
addresses count by their first 64 bits, because one machine can choose any of them. Link-local
addresses, which share these bits, count individually.
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
"""Addresses remembered without an open connection, at most: 5 MB. Beyond it the one without a
connection for the longest time is dropped, and gets a new burst."""

BURST_SECONDS: Final = 10.0
"""Allowed burst of an address after a pause, in seconds of its rate: machines behind one address
return together after an outage."""

SECONDS_BETWEEN_LINES: Final = 60.0
"""Shortest time between two log lines about an address."""

LOOKED_AT: Final = 8
"""Entries checked to find one that can be dropped, at most, for each new address."""

CONNECTIONS_REFUSED: Final = "max_connections_per_address"
RATE_REFUSED: Final = "max_connection_rate_per_address"
LISTENER_RATE_REFUSED: Final = "max_connection_rate"
"""Name of this refusal in the status's `errors`: the name of the key."""

LOOPBACK: Final[tuple[Network, ...]] = (
    ipaddress.ip_network("127.0.0.0/8"),
    ipaddress.ip_network("::1/128"),
)
"""Programs on this machine, such as the bridge: never counted."""

_HOST_BITS: Final = 64


@dataclass(frozen=True)
class AddressSettings:
    """Limits for each address. 0: unlimited."""

    connections_max: int
    """Open connections."""
    rate: int
    """New connections per second."""
    exempt: tuple[Network, ...] = ()
    """Networks that are exempt, in addition to loopback."""
    sessions_max: int = 0
    packet_rate: int = 0
    byte_rate: int = 0
    """Bytes per second of all its clients."""

    @property
    def limits_nothing(self) -> bool:
        """True if there are no limits, so that addresses need not be counted."""
        return not (self.connections_max or self.rate or self.limits_clients)

    @property
    def limits_clients(self) -> bool:
        """True if there is a limit that the core counts."""
        return bool(self.sessions_max or self.packet_rate or self.byte_rate)


class Entry:
    """Counters of one address."""

    def __init__(self, bucket: TokenBucket) -> None:
        self.open_count = 0
        self.bucket = bucket
        self.share: Share | None = None
        self.next_line_at = 0.0
        self.refused_count = 0
        """Refusals since the last log line."""

    def is_idle(self, now: float) -> bool:
        """Return True if the entry can be forgotten."""
        is_idle = not self.open_count and self.bucket.is_full(now)
        return is_idle and (self.share is None or self.share.is_idle(now))


class AddressLimits:
    """Counts connections by address."""

    def __init__(self, statistics: Statistics, settings: AddressSettings) -> None:
        self._statistics = statistics
        self._settings = settings
        self._entries: dict[str, Entry] = {}
        """Addresses with the most recent connections last."""
        self.exempt = LOOPBACK + settings.exempt
        self.banned = BannedNetworks([])
        """No exemption applies to these: an operator named them, or they are flapping."""
        self._next_banned_line_at = 0.0

    def replace_settings(self, settings: AddressSettings, now: float) -> None:
        """Replace the limits for new connections."""
        if settings == self._settings:
            return
        self._settings = settings
        self.exempt = LOOPBACK + settings.exempt
        for entry in self._entries.values():
            entry.bucket = self._new_bucket(now)
            if entry.share is not None:
                self._assign(entry.share)

    def is_exempt(self, address: Address) -> bool:
        """Return True for addresses of this machine, and those exempted by the operator."""
        return any(address in network for network in self.exempt)

    def enter(self, address: Address | None, now: float) -> tuple[str, str]:
        """Count a new connection. None: it has no address that could be counted.

        Returns:
            The exceeded limit, or an empty text; and the key for `leave` if the connection counts.
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
        """Count the end of a connection. `key` is the one returned by `enter`."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.open_count -= 1
        if entry.is_idle(now):
            del self._entries[key]

    def share_of(self, key: str) -> Share | None:
        """Return the shared limits of an address's clients; None: nothing is limited.

        `key` is the one returned by `enter`.
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
        """Forget addresses without connections and sessions to make room.

        The other addresses are limited by the number of connections and sessions.
        """
        for key in list(_first(self._entries, LOOKED_AT)):
            if len(self._entries) < ENTRIES_MAX:
                return
            entry = self._entries.pop(key)
            if entry.open_count or (entry.share is not None and entry.share.sessions):
                self._entries[key] = entry


def address_settings_of(configuration: Configuration) -> AddressSettings:
    """Return the limits from `[quotas]`. Default: half of all connections per address."""
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
    """Return the address in `HOST:PORT` or `[HOST]:PORT`; None if there is none, as in a path."""
    host = text.rpartition(":")[0].strip("[]")
    return address_of(host)


def address_of(host: str) -> Address | None:
    """Parse an address. An IPv4 address mapped to IPv6 is returned as IPv4."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def key_of(address: Address) -> str:
    """Return the key of an address: itself, or its first 64 bits."""
    if isinstance(address, ipaddress.IPv4Address) or address.is_link_local:
        return str(address)
    network = int(address) >> _HOST_BITS << _HOST_BITS
    return f"{ipaddress.IPv6Address(network)}/{_HOST_BITS}"

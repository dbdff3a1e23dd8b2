"""Limits visitors' connections, and chooses the connection to close if a limit is reached.

A visitor that sends complete requests is served even if others hold many idle connections. If a
limit is reached, a new connection replaces an old one: the connection that has been waiting longest
without completing a request. If the limit for one address is reached, the old connection must be
from the same address. While a request is being answered, its connection is protected for at most
``ANSWERING_SECONDS_PROTECTED``.

Connections from loopback addresses have limits of their own, because reverse proxies and local
users connect from these addresses. The caller provides the time. This module does no I/O.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final, Protocol

from api import limits

# One customer of an internet provider usually has at least a /64 of IPv6 addresses.
_IPV6_PREFIX_BITS: Final = 64


class Visitor(Protocol):
    """Interface through which `Visitors` closes a visitor's connection."""

    def close_to_make_room(self) -> None:
        """Close the connection immediately."""


@dataclass
class _Place:
    address: str
    since: float
    answering: bool = False


class Visitors:
    """All visitors' connections to a server. Times are in seconds on a monotonic clock."""

    def __init__(self) -> None:
        self._network: Final[dict[Visitor, _Place]] = {}
        self._loopback: Final[dict[Visitor, _Place]] = {}

    def admit(self, visitor: Visitor, host: str, now: float) -> bool:
        """Accept a new connection from an IP address. If necessary, close another connection.

        Return True if the connection is accepted. Return False if there is no room and no other
        connection can be closed.
        """
        address, on_loopback = _counted_as(host)
        if on_loopback:
            places, places_max = self._loopback, limits.LOOPBACK_CONNECTIONS_MAX
            own_max = limits.LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX
        else:
            places, places_max = self._network, limits.NETWORK_CONNECTIONS_MAX
            own_max = limits.CONNECTIONS_PER_ADDRESS_MAX
        own = [held for held, place in places.items() if place.address == address]
        if len(own) >= own_max:
            admitted = _make_room(places, own, now)
        elif len(places) >= places_max:
            admitted = _make_room(places, list(places), now)
        else:
            admitted = True
        if admitted:
            places[visitor] = _Place(address, now)
        return admitted

    def request_received(self, visitor: Visitor, now: float) -> None:
        """Record that a visitor has sent a complete request."""
        self._move(visitor, now, answering=True)

    def requests_answered(self, visitor: Visitor, now: float) -> None:
        """Record that all requests from a visitor have been answered."""
        self._move(visitor, now, answering=False)

    def left(self, visitor: Visitor) -> None:
        """Remove a visitor whose connection has closed."""
        self._network.pop(visitor, None)
        self._loopback.pop(visitor, None)

    def _move(self, visitor: Visitor, now: float, *, answering: bool) -> None:
        for places in (self._network, self._loopback):
            place = places.pop(visitor, None)
            if place is not None:
                # Move the visitor to the end; the first visitor in the dict has waited longest.
                places[visitor] = _Place(place.address, now, answering)


def _make_room(places: dict[Visitor, _Place], candidates: list[Visitor], now: float) -> bool:
    protected_since = now - limits.ANSWERING_SECONDS_PROTECTED
    for visitor in candidates:
        place = places[visitor]
        if not place.answering or place.since < protected_since:
            del places[visitor]
            visitor.close_to_make_room()
            return True
    return False


def _counted_as(host: str) -> tuple[str, bool]:
    """Return the key under which an address is counted, and whether it is a loopback address.

    The key of an IPv6 address is its /64 network. The key of an IPv4 address is the address itself.
    If `host` is not an IP address, return `host` and False.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host, False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            network = ipaddress.ip_network((int(address), _IPV6_PREFIX_BITS), strict=False)
            return str(network), address.is_loopback
        address = address.ipv4_mapped
    return str(address), address.is_loopback


def origin_of(host: str) -> str:
    """Return the key under which connections from an address are counted.

    The key of an IPv6 address is its /64 network. The key of an IPv4 address is the address itself.
    """
    return _counted_as(host)[0]

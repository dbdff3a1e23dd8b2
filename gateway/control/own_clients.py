"""Bans of the gateway's own clients, bridge and uplink: what stops, for `ctl ban` and the page."""

import ipaddress
from collections.abc import Mapping
from typing import Final

STOPPED_BY_BAN: Final[Mapping[str, str]] = {
    "bridge": "This is the gateway's own bridge. While it is banned, no reading of a serial sensor "
    "reaches the broker: readings wait in the outbox until it is full.",
    "uplink": "This is the gateway's own uplink. While it is banned, no message is exchanged with "
    "the upstream broker.",
}
"""A sentence for each client, by its name."""


def is_in_network(host: str, network: str) -> bool:
    """Return whether an address belongs to a banned address or network.

    False where `host` is no address (a name, a Unix socket), or `network` is none.
    """
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False

"""Effects of bans on the gateway's own clients (bridge and uplink), for `ctl ban` and the page."""

import ipaddress
from collections.abc import Mapping
from typing import Final

STOPPED_BY_BAN: Final[Mapping[str, str]] = {
    "bridge": "This is the gateway's own bridge. While it is banned, no reading of a serial sensor "
    "reaches the broker: readings wait in the outbox until it is full.",
    "uplink": "This is the gateway's own uplink. While it is banned, no message is exchanged with "
    "the upstream broker.",
}
"""A sentence for each client."""


def is_in_network(host: str, network: str) -> bool:
    """Return True if an address is equal to a banned address or lies in a banned network.

    False if `host` is not an address (but a name or a Unix socket), or `network` is not valid.
    """
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False

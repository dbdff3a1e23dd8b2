"""Warnings about bans that affect the gateway's own MQTT clients (bridge and uplink)."""

import ipaddress
from collections.abc import Mapping
from typing import Final

STOPPED_BY_BAN: Final[Mapping[str, str]] = {
    "bridge": "This is the gateway's own bridge. While it is banned, no reading of a serial sensor "
    "reaches the broker: readings wait in the outbox until it is full.",
    "uplink": "This is the gateway's own uplink. While it is banned, no message is exchanged with "
    "the upstream broker.",
}
"""Warnings about the consequences of a ban, one for each of the gateway's own clients."""


def is_in_network(host: str, network: str) -> bool:
    """Return True if `host` is an IP address in `network`.

    `network` is an IP network, or a single IP address. Return False if `host` or `network` is
    invalid, for example if `host` is a host name or the path of a Unix socket.
    """
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False

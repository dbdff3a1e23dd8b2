"""The gateway's own clients of its broker, bridge and uplink: what stops while one is banned.

For `ctl ban` and the page, which warn of it.
"""

from collections.abc import Mapping
from typing import Final

STOPPED_BY_BAN: Final[Mapping[str, str]] = {
    "bridge": "This is the gateway's own bridge. While it is banned, no reading of a serial sensor "
    "reaches the broker: readings wait in the outbox until it is full.",
    "uplink": "This is the gateway's own uplink. While it is banned, no message is exchanged with "
    "the upstream broker.",
}
"""A sentence for each client, by its name."""

"""Bans of client identifiers and users, as the core checks them. The server manages them.

Banned addresses are rejected before a connection reaches the core
(`gateway/broker/server/listeners/gate.py`).
"""

from typing import Final

from gateway.broker.core.flapping import Flapping

BANNED_REASON: Final = "banned"
"""Name of this refusal in the status's `errors`."""


class Bans:
    """Banned client identifiers and users, and the detection of flapping clients."""

    def __init__(self) -> None:
        self.client_ids: set[str] = set()
        self.users: set[str] = set()
        self.flapping = Flapping()

    def is_banned(self, client_id: str, username: str | None) -> bool:
        """Return True if a client may not connect."""
        return client_id in self.client_ids or (username is not None and username in self.users)

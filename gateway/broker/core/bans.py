"""Banned client identifiers and users, which are not allowed to connect.

The server manages the bans. Connections from banned addresses are rejected before they reach the
core (`gateway/broker/server/listeners/gate.py`).
"""

from typing import Final

from gateway.broker.core.flapping import Flapping

BANNED_REASON: Final = "banned"
"""Name of the counter of refused clients that are banned, in `errors` of the status."""


class Bans:
    """Lists of banned client identifiers and users, and a detector of flapping clients."""

    def __init__(self) -> None:
        self.client_ids: set[str] = set()
        self.users: set[str] = set()
        self.flapping = Flapping()

    def is_banned(self, client_id: str, username: str | None) -> bool:
        """Return True if the client identifier or the user is banned."""
        return client_id in self.client_ids or (username is not None and username in self.users)

"""Check of client identifiers and users against the current bans, which the server manages.

Banned addresses are rejected before a connection reaches the core
(`gateway/broker/server/listeners/gate.py`).
"""

from typing import Final

from gateway.broker.core.flapping import Flapping

BANNED_REASON: Final = "banned"
"""Name under which the status counts refused clients that are banned, in `errors`."""


class Bans:
    """Banned client identifiers and users, with a detector of clients that connect too often."""

    def __init__(self) -> None:
        self.client_ids: set[str] = set()
        self.users: set[str] = set()
        self.flapping = Flapping()

    def is_banned(self, client_id: str, username: str | None) -> bool:
        """Return True if the client identifier or the user is banned."""
        return client_id in self.client_ids or (username is not None and username in self.users)

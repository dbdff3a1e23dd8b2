"""Counters for the sessions of one user, or of all clients without a user.

They are updated as facts are applied, so checking a limit is one comparison. Only
`gateway.core.owners` and `gateway.core.state` change them.
"""

from typing import TYPE_CHECKING

from gateway.core.quota import Quota

if TYPE_CHECKING:
    from gateway.core.sessions.session import Session


class Owner:
    """An authenticated user, or all clients without one (NO_USER and LOCAL_PROGRAMS in
    `quota.py`).
    """

    def __init__(self, username: str, quota: Quota) -> None:
        self.username = username
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes
        """Here as well, because each message that is queued asks for it."""
        self.connections = 0
        self.sessions = 0
        self.subscriptions = 0
        self.subscription_bytes = 0
        self.queued_bytes = 0
        self.held_bytes = 0
        self.retained = 0
        """Messages that are retained, or held to be retained."""
        self.retained_bytes = 0
        self.unused: dict[Session, None] = {}
        """Sessions that are away and may be given back, the one that left first in front."""
        self.empty: dict[Session, None] = {}
        """Sessions from before the start that hold nothing: they may be given back next."""

    def assign(self, quota: Quota) -> None:
        """Replace the quota."""
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes

    def name_of(self, limit: str) -> str:
        """Return the name of a limit of the quota, for counters and the log."""
        return self.quota.prefix + limit

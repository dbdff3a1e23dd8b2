"""Counters for the sessions of one user, or of all clients without a user.

They are updated as facts are applied, so checking a limit is one comparison. Only
`gateway.broker.core.owners` and `gateway.broker.core.state` change them.
"""

from typing import TYPE_CHECKING

from gateway.broker.core.quota import Quota

if TYPE_CHECKING:
    from gateway.broker.core.sessions.session import Session


class Owner:
    """An authenticated user, or all clients without one (NO_USER and LOCAL_PROGRAMS in
    `quota.py`).
    """

    def __init__(self, username: str, quota: Quota) -> None:
        self.username = username
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes
        """A copy of the quota's value, because every queued message checks it."""
        self.connections = 0
        self.sessions = 0
        self.subscriptions = 0
        self.subscription_bytes = 0
        self.queued_bytes = 0
        self.held_bytes = 0
        self.retained = 0
        """Number of messages retained, or held to be retained."""
        self.retained_bytes = 0
        self.unused: dict[Session, None] = {}
        """Unused sessions of absent clients, which may be deleted; the one that left first is
        first."""
        self.empty: dict[Session, None] = {}
        """Empty sessions from before the start, which may be deleted next."""

    def assign(self, quota: Quota) -> None:
        """Replace the quota."""
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes

    def name_of(self, limit: str) -> str:
        """Return the name of a limit of the quota, for counters and the log."""
        return self.quota.prefix + limit

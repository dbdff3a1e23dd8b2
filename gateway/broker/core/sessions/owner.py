"""Counters for the sessions of one user, or of all clients without a user.

The counters are updated with each change, so a limit can be checked with one comparison. Most
updates are made by `gateway.broker.core.owners`.
"""

from typing import TYPE_CHECKING

from gateway.broker.core.quota import Quota

if TYPE_CHECKING:
    from gateway.broker.core.sessions.session import Session


class Owner:
    """The counters and quota of a user, or of all clients without a user.

    For clients without a user, the name is NO_USER or LOCAL_PROGRAMS (`quota.py`).
    """

    def __init__(self, username: str, quota: Quota) -> None:
        self.username = username
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes
        """A copy of the quota's value, since it is checked for every queued message."""
        self.connections = 0
        self.sessions = 0
        self.subscriptions = 0
        self.subscription_bytes = 0
        self.queued_bytes = 0
        self.held_bytes = 0
        self.retained = 0
        """Number of messages that are retained, or held to be retained."""
        self.retained_bytes = 0
        self.unused: dict[Session, None] = {}
        """Unused sessions of absent clients, which may be deleted. The session whose client left
        first is the first."""
        self.empty: dict[Session, None] = {}
        """Empty sessions from before the broker's start. They may be deleted if there are no unused
        sessions."""

    def assign(self, quota: Quota) -> None:
        """Replace the user's quota, and keep the counters."""
        self.quota = quota
        self.queued_bytes_max = quota.queued_bytes

    def name_of(self, limit: str) -> str:
        """Return a limit's name with the quota's prefix, as used in counters and in the log."""
        return self.quota.prefix + limit

"""Limits for all clients of one user together, or for all clients without a user.

In contrast, the limits in `limits.py` apply to one session, or to all sessions of the broker. This
module does no I/O and reads no clock.
"""

from typing import Final

from mypy_extensions import mypyc_attr

NO_LIMIT: Final = 1 << 60

USER: Final = "user_"
ANONYMOUS: Final = "anonymous_"
LOCAL: Final = "local_"
"""USER, ANONYMOUS and LOCAL are prefixes of names of limits, in counters and in the log."""

NO_USER: Final = ""
LOCAL_PROGRAMS: Final = "\0"
"""Owners that are not users. NO_USER stands for all clients from the network without a user, and
LOCAL_PROGRAMS for all clients on this machine without a user, including the bridge. User names
contain no NUL."""


class Quota:
    """Limits for one user: counts, and sizes in bytes. By default nothing is limited."""

    def __init__(self, prefix: str = USER) -> None:
        self.prefix = prefix
        self.connections = NO_LIMIT
        """Maximum connected clients."""
        self.sessions = NO_LIMIT
        """Maximum sessions, connected or not."""
        self.subscriptions = NO_LIMIT
        self.subscription_bytes = NO_LIMIT
        """Maximum memory of the subscriptions, as if they shared no levels of the topic tree."""
        self.retained = NO_LIMIT
        self.retained_bytes = NO_LIMIT
        """Maximum memory of the retained messages, without their levels of the topic tree."""
        self.queued_bytes = NO_LIMIT
        """Maximum bytes of topics and payloads in the sessions' queues, in memory and on disk."""
        self.held_bytes = NO_LIMIT
        """Maximum bytes of unreleased QoS 2 messages, without HELD_BYTES_FREE per session."""
        self.session_expiry_seconds: float | None = None
        """Maximum seconds that a session outlives its connection, or None for unlimited."""
        self.login_rate = 0
        """Logins per second of all clients of the user, or 0 for unlimited."""
        self.packet_rate = 0
        """Packets per second of all clients of the user, or 0 for unlimited."""
        self.byte_rate = 0
        """Bytes per second of all clients of the user, or 0 for unlimited."""
        self.journal_bytes_per_day = 0
        """Bytes per day that all clients of the user may add to the journal, and so to the session
        log, or 0 for unlimited."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Quotas:
    """The quotas of all users. This base class limits nothing. Subclasses override `quota_of`."""

    def quota_of(self, username: str) -> Quota:
        """Return a user's quota. `username` may also be NO_USER or LOCAL_PROGRAMS."""
        if username == LOCAL_PROGRAMS:
            return Quota(LOCAL)
        return Quota(USER if username else ANONYMOUS)

"""Quotas of all clients of one user together, or of all clients without a user. Pure.

The limits in `limits.py` apply to a single session or to all together. Quotas are between the two.
"""

from typing import Final

from mypy_extensions import mypyc_attr

NO_LIMIT: Final = 1 << 60

USER: Final = "user_"
ANONYMOUS: Final = "anonymous_"
LOCAL: Final = "local_"
"""Prefix of the names of limits, in counters and in the log."""

NO_USER: Final = ""
LOCAL_PROGRAMS: Final = "\0"
"""Owners that are not users: all clients from the network without a user, and all from this
machine, including the bridge. User names contain no NUL."""


class Quota:
    """A quota. Counts are counts, sizes are bytes. By default nothing is limited."""

    def __init__(self, prefix: str = USER) -> None:
        self.prefix = prefix
        self.connections = NO_LIMIT
        """Connected clients."""
        self.sessions = NO_LIMIT
        """Sessions, connected or not."""
        self.subscriptions = NO_LIMIT
        self.subscription_bytes = NO_LIMIT
        """Memory of the subscriptions if they shared no levels of the tree."""
        self.retained = NO_LIMIT
        self.retained_bytes = NO_LIMIT
        """Memory of the retained messages, without their levels of the tree."""
        self.queued_bytes = NO_LIMIT
        """Topics and payloads in the queues of the sessions; long queues are on disk."""
        self.held_bytes = NO_LIMIT
        """QoS 2 messages received and not released; HELD_BYTES_FREE per session are not counted."""
        self.session_expiry_seconds: float | None = None
        """How long a session may outlive its connection; None: as in `limits.py`."""
        self.login_rate = 0
        """Logins per second of all its clients; 0: unlimited."""
        self.packet_rate = 0
        """Packets per second of all its clients; 0: unlimited."""
        self.byte_rate = 0
        """Bytes per second of all its clients; 0: unlimited."""
        self.journal_bytes_per_day = 0
        """Bytes per day that all its clients may add to the journal, and so to the session log; 0:
        unlimited."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Quotas:
    """The quotas of all users. This base class limits nothing; subclasses override it."""

    def quota_of(self, username: str) -> Quota:
        """Return a user's quota. NO_USER and LOCAL_PROGRAMS are valid names too."""
        if username == LOCAL_PROGRAMS:
            return Quota(LOCAL)
        return Quota(USER if username else ANONYMOUS)

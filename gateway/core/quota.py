"""Quotas of all clients of one user together, or of all clients without a user. Pure.

The limits in `limits.py` apply to a single session or to all together. Quotas are between the two.
"""

from typing import Final

from mypy_extensions import mypyc_attr

NO_LIMIT: Final = 1 << 60

USER: Final = "user_"
ANONYMOUS: Final = "anonymous_"
LOCAL: Final = "local_"
"""What the names of limits begin with, in counters and in the log."""

NO_USER: Final = ""
LOCAL_PROGRAMS: Final = "\0"
"""Owners that are no users: all clients from the network without a user, and all from this machine,
the bridge among them. No user name has a NUL."""


class Quota:
    """A quota. Counts are counts, sizes are bytes. By default nothing is limited."""

    def __init__(self, prefix: str = USER) -> None:
        self.prefix = prefix
        self.connections = NO_LIMIT
        """Clients that are connected."""
        self.sessions = NO_LIMIT
        """Connected or not."""
        self.subscriptions = NO_LIMIT
        self.subscription_bytes = NO_LIMIT
        """What they cost in memory, had each its levels of the tree for itself."""
        self.retained = NO_LIMIT
        self.retained_bytes = NO_LIMIT
        """What they cost in memory, without their levels in the tree."""
        self.queued_bytes = NO_LIMIT
        """In the queues of the sessions: topics and payloads, on disk where there are many."""
        self.held_bytes = NO_LIMIT
        """QoS 2 messages received and not released; HELD_BYTES_FREE of each session is free."""
        self.session_expiry_seconds: float | None = None
        """How long a session outlives its connection at the most; None: as `limits.py` has it."""
        self.login_rate = 0
        """Logins a second of all its clients; 0: no limit."""
        self.packet_rate = 0
        """Packets a second of all its clients; 0: no limit."""
        self.byte_rate = 0
        """Bytes a second of all its clients; 0: no limit."""
        self.journal_bytes_per_day = 0
        """What all its clients bring into the journal, and so into the session log, in a day; 0: no
        limit."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Quotas:
    """The quotas of all users. This base class limits nothing; subclasses override it."""

    def quota_of(self, username: str) -> Quota:
        """Return a user's quota. NO_USER and LOCAL_PROGRAMS are valid names too."""
        if username == LOCAL_PROGRAMS:
            return Quota(LOCAL)
        return Quota(USER if username else ANONYMOUS)

"""Whether a client that has no session may have one: of all, and of those of its user.

Where there are users, clients without one have a share of all sessions, so that they cannot use
them up. A session in which nothing would be lost is given back when there is no other place. To a
client with a clean session one from before the start gives way as well that is empty: what its
client has done before is not known any more.
"""

from gateway.core.core import Core
from gateway.core.quota import LOCAL_PROGRAMS, NO_USER
from gateway.core.records.kinds import EndReason
from gateway.core.rules.disconnect import Disconnecting
from gateway.core.sessions.connection import Connection
from gateway.core.sessions.owner import Owner
from gateway.core.sessions.session import Session
from gateway.wire.codes import QUOTA_EXCEEDED, SERVER_UNAVAILABLE

GIVEN_BACK = "unused_sessions_given_back"
"""How they are counted in the status's `errors`."""


class SessionPlaces:
    """Counts places, and gives unused ones to others."""

    def __init__(self, core: Core, disconnecting: Disconnecting) -> None:
        self.core = core
        self.owners = core.state.owners
        self.sessions = core.state.sessions
        self.limits = core.limits
        self.statistics = core.statistics
        self.disconnecting = disconnecting

    def owner_of(self, connection: Connection) -> Owner:
        """Return whose a session of this connection is: a name counts that has been proven."""
        if self.core.authenticates and connection.username:
            return self.owners.get(connection.username)
        return self.owners.get(LOCAL_PROGRAMS if connection.is_local else NO_USER)

    def refusal_of(
        self, connection: Connection, before: Session | None, now: float, is_clean: bool = False
    ) -> tuple[int, str]:
        """Return the reason code that a client is refused with, and the limit; 0: it is not.

        `before` is its session, if it has one; `is_clean`: a new one ends with the connection.
        """
        owner = self.owner_of(connection)
        quota = owner.quota
        is_connected = before is not None and before.connection is not None
        if owner.connections - is_connected >= quota.connections:
            return QUOTA_EXCEEDED, owner.name_of("connections")
        if before is not None:
            return 0, ""
        for share in connection.shares():
            if share.sessions >= share.sessions_max:
                return QUOTA_EXCEEDED, share.name_of("sessions")
        if owner.sessions >= quota.sessions and not self._give_back(owner, now, is_clean):
            return QUOTA_EXCEEDED, owner.name_of("sessions")
        if len(self.sessions) >= self.limits.max_sessions:
            anonymous = self.owners.get(NO_USER)
            given = self._give_back(anonymous, now, is_clean)
            if not (given or self._give_back(owner, now, is_clean)):
                return SERVER_UNAVAILABLE, "max_sessions"
        return 0, ""

    def _give_back(self, owner: Owner, now: float, is_clean: bool) -> bool:
        """End the unused session whose client left first, or the oldest of those from before the
        start that are empty; return whether there was one."""
        session = next(iter(owner.unused), None)
        if session is None and is_clean:
            session = next(iter(owner.empty), None)
        if session is None:
            return False
        self.statistics.count_error(GIVEN_BACK)
        self.disconnecting.end_session(session, EndReason.EXPIRED, now)
        return True

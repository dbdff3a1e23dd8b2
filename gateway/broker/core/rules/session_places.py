"""Limits on sessions, for all together and for each user, checked when a client needs a new one.

If users are configured, clients without one get only a share of all sessions, so they cannot use
them up. If there is no room, a session whose loss would lose nothing is deleted. For a client with
a clean session this includes empty sessions from before the start, for which past use is unknown.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.quota import LOCAL_PROGRAMS, NO_USER
from gateway.broker.core.records.kinds import EndReason
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.codes import QUOTA_EXCEEDED, SERVER_UNAVAILABLE

GIVEN_BACK = "unused_sessions_given_back"
"""Name in the status's `errors`."""


class SessionPlaces:
    """Counts sessions, and deletes unused ones to make room."""

    def __init__(self, core: Core, disconnecting: Disconnection) -> None:
        self.core = core
        self.owners = core.state.owners
        self.sessions = core.state.sessions
        self.limits = core.limits
        self.statistics = core.statistics
        self.disconnecting = disconnecting

    def owner_of(self, connection: Connection) -> Owner:
        """Return the owner of a connection's session: its user, if authenticated."""
        if self.core.authenticates and connection.username:
            return self.owners.get(connection.username)
        return self.owners.get(LOCAL_PROGRAMS if connection.is_local else NO_USER)

    def refusal_of(
        self, connection: Connection, before: Session | None, now: float, is_clean: bool = False
    ) -> tuple[int, str]:
        """Return the reason code and the limit with which a client is refused; 0 if it is accepted.

        `before` is its existing session, if any. `is_clean`: a new session would end with the
        connection.
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
        """End an unused session to make room. Return False if there is none.

        The unused session whose client left first is ended; for a clean client, otherwise the
        oldest empty session from before the start.
        """
        session = next(iter(owner.unused), None)
        if session is None and is_clean:
            session = next(iter(owner.empty), None)
        if session is None:
            return False
        self.statistics.count_error(GIVEN_BACK)
        self.disconnecting.end_session(session, EndReason.EXPIRED, now)
        return True

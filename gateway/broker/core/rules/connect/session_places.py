"""Limits on sessions, for all together and for each user, checked when a client needs a new one.

If users are configured, clients without one get only a share of all sessions, so they cannot use
them up. If there is no room, a session whose loss would lose nothing is deleted. For a client with
a clean session this includes empty sessions from before the start, for which past use is unknown.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.quota import LOCAL_PROGRAMS, NO_USER
from gateway.broker.core.records.kinds import EndReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.codes import QUOTA_EXCEEDED, SERVER_UNAVAILABLE

GIVEN_BACK = "unused_sessions_given_back"
"""Name in the status's `errors`."""


def owner_of(core: Core, connection: Connection) -> Owner:
    """Return the owner of a connection's session: its user, if authenticated."""
    if core.authenticates and connection.username:
        return core.state.owners.get(connection.username)
    return core.state.owners.get(LOCAL_PROGRAMS if connection.is_local else NO_USER)


def refusal_of(
    core: Core, connection: Connection, before: Session | None, now: float, is_clean: bool = False
) -> tuple[int, str]:
    """Return the reason code and the limit with which a client is refused; 0 if it is accepted.

    `before` is its existing session, if any. `is_clean`: a new session would end with the
    connection.
    """
    owner = owner_of(core, connection)
    quota = owner.quota
    is_connected = before is not None and before.connection is not None
    if owner.connections - is_connected >= quota.connections:
        return QUOTA_EXCEEDED, owner.name_of("connections")
    if before is not None:
        return 0, ""
    for share in connection.shares():
        if share.sessions >= share.sessions_max:
            return QUOTA_EXCEEDED, share.name_of("sessions")
    if owner.sessions >= quota.sessions and not _give_back(core, owner, now, is_clean):
        return QUOTA_EXCEEDED, owner.name_of("sessions")
    if len(core.state.sessions) >= core.limits.max_sessions:
        anonymous = core.state.owners.get(NO_USER)
        given = _give_back(core, anonymous, now, is_clean)
        if not (given or _give_back(core, owner, now, is_clean)):
            return SERVER_UNAVAILABLE, "max_sessions"
    return 0, ""


def _give_back(core: Core, owner: Owner, now: float, is_clean: bool) -> bool:
    """End an unused session to make room. Return False if there is none.

    The unused session whose client left first is ended; for a clean client, otherwise the
    oldest empty session from before the start.
    """
    session = next(iter(owner.unused), None)
    if session is None and is_clean:
        session = next(iter(owner.empty), None)
    if session is None:
        return False
    core.statistics.count_error(GIVEN_BACK)
    disconnect.end_session(core, session, EndReason.EXPIRED, now)
    return True

"""Limits on the number of sessions, in total and for each user.

The limits are checked when a client needs a new session. If users are configured, some sessions are
reserved for them, so clients without a user cannot use all sessions. When a limit is reached, the
broker deletes a session that was never used, because this loses no message. To make room for a new
clean session, it can also delete a session that is empty and was opened before the last restart,
even if this session has been used.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.quota import LOCAL_PROGRAMS, NO_USER
from gateway.broker.core.records.kinds import EndReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.codes import QUOTA_EXCEEDED, SERVER_UNAVAILABLE

UNUSED_SESSIONS_ENDED = "unused_sessions_given_back"
"""Name of the counter of sessions that were ended to make room, in `errors` of the status."""


def owner_of(core: Core, connection: Connection) -> Owner:
    """Return the owner whose limits apply to a connection's session.

    The owner is the authenticated user. All clients on this machine that have no user share one
    owner. All other clients that have no user share another owner.
    """
    if core.authenticates and connection.username:
        return core.state.owners.get(connection.username)
    return core.state.owners.get(LOCAL_PROGRAMS if connection.is_local else NO_USER)


def refusal_of(
    core: Core, connection: Connection, before: Session | None, now: float, is_clean: bool = False
) -> tuple[int, str]:
    """Return the reason code for refusing a client, and the name of the exceeded limit.

    If the client is accepted, the code is 0. `before` is the client's existing session, or None.
    `is_clean` is True if the client's new session would end with its connection.
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
    if owner.sessions >= quota.sessions and not _end_unused(core, owner, now, is_clean):
        return QUOTA_EXCEEDED, owner.name_of("sessions")
    if len(core.state.sessions) >= core.limits.max_sessions:
        anonymous = core.state.owners.get(NO_USER)
        given = _end_unused(core, anonymous, now, is_clean)
        if not (given or _end_unused(core, owner, now, is_clean)):
            return SERVER_UNAVAILABLE, "max_sessions"
    return 0, ""


def _end_unused(core: Core, owner: Owner, now: float, is_clean: bool) -> bool:
    """End one of an owner's sessions to make room. Return False if no session can be ended.

    The unused session whose client disconnected first is ended. If there is no unused session, and
    the new session is clean, the oldest empty session from before the broker's restart is ended
    instead.
    """
    session = next(iter(owner.unused), None)
    if session is None and is_clean:
        session = next(iter(owner.empty), None)
    if session is None:
        return False
    core.statistics.count_error(UNUSED_SESSIONS_ENDED)
    disconnect.end_session(core, session, EndReason.EXPIRED, now)
    return True

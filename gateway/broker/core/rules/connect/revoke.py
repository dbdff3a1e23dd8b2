"""Revokes rights: recalculates routes, and disconnects clients that lose access.

The loss of a right affects all later messages. Messages that are already queued are checked again
before they are sent.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import CONNECT_REFUSED, AccessRules
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.connect import disconnect
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import NOT_AUTHORIZED

CREDENTIALS_CHANGED = "the credentials of its user have changed"
CONNECT_FORBIDDEN = "its client may not connect any more"


def authenticate(core: Core, authenticates: bool, methods: list[str]) -> None:
    """Turn user name authentication on or off, and set the enhanced authentication methods."""
    core.authenticates = authenticates
    core.methods = methods
    core.permissions.authenticate(authenticates)
    apply(core)


def restrict(core: Core, rules: AccessRules | None) -> None:
    """Replace the access rules. If `rules` is None, everything is allowed."""
    core.permissions.restrict(rules)
    apply(core)


def apply(core: Core) -> None:
    """Recalculate all routes, because the access rights of clients may have changed."""
    tree = core.state.tree
    tree.refuses = core.permissions.refuses_receive if core.permissions.restricted else None
    tree.scope_of = core.permissions.scope_of if core.permissions.has_rules else None
    tree.forget_all_routes()
    for session in core.state.sessions.values():
        session.recheck_before = session.next_position
        if tree.shared_count:
            tree.regroup(session)


def deny_removed_users(core: Core, users: frozenset[str] | None, removed: frozenset[str]) -> None:
    """Deny everything to removed users that still own sessions or retained messages.

    Args:
        users: the names of all existing users, or None if unknown. An owner who is not one of them
            counts as removed.
        removed: the names of users that have been removed.
    """
    gone: set[str] = set()
    if core.authenticates:
        for name in core.state.owners.users():
            if name in removed or (users is not None and name not in users):
                gone.add(name)
    if gone != core.permissions.removed_users:
        core.permissions.forbid(frozenset(gone))
        apply(core)


def revoke_certificates(core: Core, revoked: frozenset[str]) -> int:
    """Stop delivery to sessions of disconnected clients whose certificate is in `revoked`.

    If a session's certificate is no longer in `revoked`, delivery to the session resumes. Return
    the number of sessions for which this call stopped delivery.
    """
    count, differs, has_revoked = 0, False, False
    for session in core.state.sessions.values():
        is_revoked = session.connection is None and session.certificate in revoked
        count += is_revoked and not session.is_revoked
        differs |= is_revoked != session.is_revoked
        has_revoked |= is_revoked
        session.is_revoked = is_revoked
    if differs:
        core.permissions.note_revoked(has_revoked)
        apply(core)
    return count


def assign_owner(core: Core, session: Session, username: str) -> None:
    """Assign a session to a user, and apply the user's access rights to it."""
    core.recorder.session_owned(session, username)
    core.permissions.forget(session)
    core.state.tree.regroup(session)
    core.state.tree.forget_all_routes()
    session.recheck_before = session.next_position


def enforce(core: Core, changed: frozenset[str], now: float) -> int:
    """Disconnect the users in `changed`, and all clients that are no longer allowed to connect.

    Return the number of disconnected clients.
    """
    ended = 0
    for session in list(core.state.sessions.values()):
        connection = session.connection
        if connection is None:
            continue
        if core.authenticates and connection.username in changed:
            detail = CREDENTIALS_CHANGED
        elif core.permissions.restricted and core.permissions.refuses_connect(
            connection, session.client_id
        ):
            detail = CONNECT_FORBIDDEN
        else:
            continue
        ended += 1
        core.statistics.deny(CONNECT_REFUSED, session, detail)
        violation = Violation(CONNECT_REFUSED, NOT_AUTHORIZED, detail)
        disconnect.end(core, connection, CloseReason.KICKED, now, violation)
    return ended

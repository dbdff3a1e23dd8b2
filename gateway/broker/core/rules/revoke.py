"""Revocation of rights: routes are recalculated, and connections that are no longer allowed end.

A revoked right applies to the next message, and to messages already queued, which are checked again
when they leave the queue.
"""

from gateway.broker.core.core import Core
from gateway.broker.core.permissions import CONNECT_REFUSED, AccessRules
from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import NOT_AUTHORIZED

CREDENTIALS_CHANGED = "the credentials of its user have changed"
CONNECT_FORBIDDEN = "its client may not connect any more"


class Revocation:
    """Applies new access rules and users to existing sessions and connections."""

    def __init__(self, core: Core, disconnecting: Disconnection) -> None:
        self.core = core
        self.state = core.state
        self.permissions = core.permissions
        self.statistics = core.statistics
        self.disconnecting = disconnecting

    def authenticate(self, authenticates: bool, methods: list[str]) -> None:
        """Set whether user names are authenticated from now on, and by which methods."""
        self.core.authenticates = authenticates
        self.core.methods = methods
        self.permissions.authenticate(authenticates)
        self.apply()

    def restrict(self, rules: AccessRules | None) -> None:
        """Use these access rules. None: everything is allowed."""
        self.permissions.restrict(rules)
        self.apply()

    def apply(self) -> None:
        """Recalculate all routes, since different clients may now receive a topic."""
        tree = self.state.tree
        tree.refuses = self.permissions.refuses_receive if self.permissions.restricted else None
        tree.scope_of = self.permissions.scope_of if self.permissions.has_rules else None
        tree.forget_all_routes()
        for session in self.state.sessions.values():
            session.asked_again_before = session.next_position
            if tree.shared_count:
                tree.regroup(session)

    def know_users(self, users: frozenset[str] | None, removed: frozenset[str]) -> None:
        """Deny everything to removed users that still own sessions or retained messages.

        Args:
            users: all existing users; None if unknown.
            removed: users known to have been removed.
        """
        gone: set[str] = set()
        if self.core.authenticates:
            for name in self.state.owners.users():
                if name in removed or (users is not None and name not in users):
                    gone.add(name)
        if gone != self.permissions.gone:
            self.permissions.forbid(frozenset(gone))
            self.apply()

    def revoke_certificates(self, revoked: frozenset[str]) -> int:
        """Stop delivery to disconnected sessions whose client used one of these certificates.

        Sessions whose certificate is no longer in the set are served again. Returns the number of
        newly revoked ones.
        """
        count, differs, has_revoked = 0, False, False
        for session in self.state.sessions.values():
            is_revoked = session.connection is None and session.certificate in revoked
            count += is_revoked and not session.is_revoked
            differs |= is_revoked != session.is_revoked
            has_revoked |= is_revoked
            session.is_revoked = is_revoked
        if differs:
            self.permissions.note_revoked(has_revoked)
            self.apply()
        return count

    def give(self, session: Session, username: str) -> None:
        """Assign a session to a user."""
        self.core.recorder.session_owned(session, username)
        self.permissions.forget(session)
        self.state.tree.regroup(session)
        self.state.tree.forget_all_routes()
        session.asked_again_before = session.next_position

    def enforce(self, changed: frozenset[str], now: float) -> int:
        """End the connections of users in `changed`, and those that the rules deny.

        Return how many.
        """
        ended = 0
        for session in list(self.state.sessions.values()):
            connection = session.connection
            if connection is None:
                continue
            if self.core.authenticates and connection.username in changed:
                detail = CREDENTIALS_CHANGED
            elif self.permissions.restricted and self.permissions.refuses_connect(
                connection, session.client_id
            ):
                detail = CONNECT_FORBIDDEN
            else:
                continue
            ended += 1
            self.statistics.deny(CONNECT_REFUSED, session, detail)
            violation = Violation(CONNECT_REFUSED, NOT_AUTHORIZED, detail)
            self.disconnecting.end(connection, CloseReason.KICKED, now, violation)
        return ended

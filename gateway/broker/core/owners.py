"""Counters for checking users' quotas.

The counters are derived from the broker's state, so they are not stored. They are updated with each
change of the state, both while the broker runs and during recovery.
"""

from collections.abc import Iterable

from gateway.broker.core.quota import LOCAL_PROGRAMS, NO_USER, Quotas
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription, own_bytes_of
from gateway.broker.core.topics.levels import LEVEL_BYTES


class Owners:
    """The counters of each user that has a session or a retained message."""

    def __init__(self) -> None:
        self._quotas = Quotas()
        self._owners: dict[str, Owner] = {}

    def assign(self, quotas: Quotas) -> None:
        """Apply new quotas. Sessions and messages that already exceed a new quota are kept."""
        self._quotas = quotas
        for owner in self._owners.values():
            owner.assign(quotas.quota_of(owner.username))

    def get(self, name: str) -> Owner:
        """Return the counters of a user, or of all clients without a user.

        If there are no counters yet, return new ones. They are stored once a session or a retained
        message is counted.
        """
        owner = self._owners.get(name)
        return Owner(name, self._quotas.quota_of(name)) if owner is None else owner

    def all(self) -> list[Owner]:
        """Return the counters of all users with a session or a retained message."""
        return list(self._owners.values())

    def users(self) -> list[str]:
        """Return the names of users that have a session or a retained message."""
        return [name for name in self._owners if name not in (NO_USER, LOCAL_PROGRAMS)]

    # -- sessions

    def opened(self, session: Session) -> None:
        """Count a new session, with its subscriptions and messages."""
        if session.owner is None:
            self._add(session, self.get(name_of(session)))

    def moved(self, session: Session) -> None:
        """Move a session's counts from its previous user to its present user."""
        owner = session.owner
        name = name_of(session)
        if owner is not None and owner.username != name:
            self._remove(session, owner)
            self._add(session, self.get(name))

    def ended(self, session: Session) -> None:
        """Subtract the counts of a session that ends. Call this before its contents are removed."""
        owner = session.owner
        if owner is not None:
            self._remove(session, owner)
            session.owner = None

    def measure_queues(self, sessions: Iterable[Session]) -> None:
        """Recalculate each user's queue size as the sum over the user's sessions."""
        for owner in self._owners.values():
            owner.queued_bytes = 0
        for session in sessions:
            if session.owner is not None:
                session.owner.queued_bytes += session.queued_bytes

    def _add(self, session: Session, owner: Owner) -> None:
        self._owners[owner.username] = owner
        session.owner = owner
        owner.sessions += 1
        owner.connections += session.connection is not None
        self._change(session, owner, 1)

    def _remove(self, session: Session, owner: Owner) -> None:
        owner.sessions -= 1
        owner.connections -= session.connection is not None
        owner.unused.pop(session, None)
        owner.empty.pop(session, None)
        self._change(session, owner, -1)
        self._forget(owner)

    def _change(self, session: Session, owner: Owner, sign: int) -> None:
        owner.queued_bytes += sign * session.queued_bytes
        owner.held_bytes += sign * session.inbound_bytes
        owner.subscriptions += sign * len(session.subscriptions)
        for subscription in session.subscriptions.values():
            owner.subscription_bytes += sign * cost_of(subscription.topic_filter)

    def _forget(self, owner: Owner) -> None:
        if not owner.sessions and not owner.retained:
            self._owners.pop(owner.username, None)

    # -- subscriptions

    def subscribed(self, session: Session, subscription: Subscription) -> None:
        """Count a subscription. Call this before the subscription is added or replaced."""
        owner = session.owner
        if owner is not None and subscription.topic_filter not in session.subscriptions:
            owner.subscriptions += 1
            owner.subscription_bytes += cost_of(subscription.topic_filter)

    def unsubscribed(self, session: Session, subscription: Subscription) -> None:
        """Subtract the counts of a subscription that was removed."""
        owner = session.owner
        if owner is not None:
            owner.subscriptions -= 1
            owner.subscription_bytes -= cost_of(subscription.topic_filter)

    # -- retained messages, and those held to be retained

    def count_retained(self, message: Message) -> None:
        """Add a retained message to its owner's counters.

        A held message that will be retained after PUBREL is counted too.
        """
        owner = message.owner
        if owner is not None:
            # If the user had nothing left in the meantime, there may be a new object by now.
            owner = self._owners.setdefault(owner.username, owner)
            message.owner = owner
            owner.retained += 1
            owner.retained_bytes += message.retained_bytes()

    def uncount_retained(self, message: Message) -> None:
        """Reverse the effect of `count_retained` for a message."""
        owner = message.owner
        if owner is not None:
            owner.retained -= 1
            owner.retained_bytes -= message.retained_bytes()
            self._forget(owner)


def name_of(session: Session) -> str:
    """Return the user name under which a session is counted.

    A session without a user is counted under LOCAL_PROGRAMS if its client is on this machine, and
    under NO_USER otherwise.
    """
    return session.username or (LOCAL_PROGRAMS if session.is_local else NO_USER)


def cost_of(topic_filter: str) -> int:
    """Return the maximum memory that a subscription can take, in bytes.

    A subscription takes less if it has topic levels in common with another subscription.
    """
    levels_bytes = LEVEL_BYTES * (topic_filter.count("/") + 1)
    return own_bytes_of(topic_filter) + levels_bytes

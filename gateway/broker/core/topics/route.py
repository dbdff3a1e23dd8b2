"""Route of a topic: the sessions that get its messages, and the matching shared subscriptions.

The topic tree creates a route and caches it until a subscription changes.
"""

from enum import IntEnum
from typing import Final

from gateway.broker.core.limits import Limits
from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.when_full import WhenFull

SYSTEM: Final = "$SYS"
"""The first level of the broker's own topics (section 4.7.2)."""


def is_system_topic(topic: str) -> bool:
    """Return True if a topic or filter is `$SYS`, or is below `$SYS`."""
    return topic.startswith(SYSTEM) and (len(topic) == 4 or topic[4] == "/")


class Target:
    """A session that receives messages on a topic, and the highest QoS of its matching filters."""

    def __init__(self, session: Session, qos: int, retain_as_published: bool) -> None:
        self.session = session
        self.qos = qos
        self.retain_as_published = retain_as_published
        self.no_local = False
        """True if other options apply to messages that the session itself published
        [MQTT5-3.8.3-3]."""
        self.local: Target | None = None
        """With `no_local`, the target for messages from the session itself, or None if it does not
        receive them. It is never this object itself, since such a cycle would need the garbage
        collector."""


class Group:
    """The members of a shared subscription. Each message is sent to only one member."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[Session, Subscription] = {}
        self.next_member = 0

    def choose(
        self,
        limits: Limits,
        qos: int,
        size_bytes: int,
        excluded: Session | None,
        refused: set[Session] | None = None,
    ) -> Session | None:
        """Choose the member that receives a message. Return None if no member can receive it.

        Members that are equally ready are chosen alternately.

        Args:
            limits: the broker's limits on messages in flight and in queues.
            qos: QoS of the message. A member with a lower granted QoS gets it at that QoS.
            size_bytes: size of the message.
            excluded: a member that must not receive the message, or None.
            refused: members to whom the access rules deny the message.
        """
        members = [session for session in self.members if session is not excluded]
        if refused:
            members = [session for session in members if session not in refused]
        best: Session | None = None
        best_rank = Readiness.NEVER
        for offset in range(len(members)):
            index = (self.next_member + offset) % len(members)
            member = members[index]
            rank = _readiness(member, limits, min(qos, self.members[member].qos), size_bytes)
            if rank > best_rank:
                best, best_rank = member, rank
                chosen = index
                if rank is Readiness.OPEN:
                    break
        if best is not None:
            self.next_member = chosen + 1
        return best


class Readiness(IntEnum):
    """Readiness of a member of a shared subscription to receive a message now.

    The member with the highest value is preferred.
    """

    NEVER = 0
    DROPPED_ABSENT = 1
    DROPPED_CONNECTED = 2
    QUEUED_FULL = 3
    """The queue is full, but acknowledged messages are not dropped."""
    QUEUED_ABSENT = 4
    QUEUED_SLOWING = 5
    """The queue is so long that it slows publishers."""
    QUEUED_CONNECTED = 6
    """The member is connected, and its queue has room."""
    OPEN = 7
    """The message is sent to the member immediately."""


def _readiness(session: Session, limits: Limits, qos: int, size_bytes: int) -> Readiness:
    """Return how ready a session is to receive a message of this size and QoS."""
    connection = session.connection
    if connection is not None and session.can_send_immediately(connection, limits, qos):
        return Readiness.OPEN
    keeps = qos > 0
    if not keeps and session.persistent and limits.mqueue_store_qos0:
        # A connected client receives QoS 0 through the queue if messages are waiting there already.
        keeps = connection is None or session.queued_count > 0
    if keeps and session.has_room(limits, size_bytes):
        if session.slows:
            return Readiness.QUEUED_SLOWING
        if connection is not None and not session.is_half_full:
            return Readiness.QUEUED_CONNECTED
        if connection is not None:
            return Readiness.QUEUED_ABSENT
        return Readiness.QUEUED_ABSENT if session.persistent else Readiness.NEVER
    if keeps and (session.when_full is WhenFull.REFUSE or session.slows):
        return Readiness.QUEUED_FULL
    if connection is not None:
        return Readiness.DROPPED_CONNECTED
    return Readiness.DROPPED_ABSENT if session.persistent else Readiness.NEVER


class Route:
    """The receivers of messages on a topic: sessions, and groups of shared subscriptions."""

    def __init__(self, topic: str, logged: bool) -> None:
        self.topic = topic
        self.targets: list[Target] = []
        self.groups: list[Group] = []
        self.identifiers: dict[Session, list[int]] = {}
        """Subscription identifiers by session, without those of shared subscriptions."""
        self.durable = False
        """True if any session keeps QoS 1 or 2 messages across a power cut."""
        self.persistent = False
        """True if any session is persistent, regardless of its granted QoS."""
        self.plain = True
        """True if no receiver has options and none is refused. A QoS 0 PUBLISH may then be
        forwarded unchanged."""
        self.refused = 0
        """Number of subscribed sessions and groups that are not allowed to receive the topic."""
        self.refused_targets: list[Target] = []
        """Refused persistent sessions that would have received QoS 1 or 2. The session log has a
        record for each, so that no message seems to be missing."""
        self.is_system = is_system_topic(topic)
        """True if clients are not allowed to publish to the topic."""
        self.logged = logged
        """True if the session log stores messages with this topic."""

    def count(self) -> int:
        """Return the number of sessions and groups that receive a message."""
        return len(self.targets) + len(self.groups)

    def matched(self) -> int:
        """Return the number of matching receivers. It is recorded with each published message.

        This is the number of sessions and groups that receive the message, plus the number of
        persistent sessions that would receive it with QoS 1 or 2 if the access rules did not deny
        it.
        """
        return self.count() + len(self.refused_targets)


ROUTE_BYTES: Final = 600
"""Memory of a route without sessions in bytes, including its entry in the cache."""

TARGET_BYTES: Final = 112
"""Memory that each session in a route takes, in bytes."""

IDENTIFIERS_BYTES: Final = 256
"""Memory of the subscription identifiers of one session in a route, in bytes."""


def memory_bytes_of(route: Route) -> int:
    """Return the maximum memory that a route takes, in bytes."""
    return (
        ROUTE_BYTES
        + text_bytes_of(route.topic)
        + TARGET_BYTES * (len(route.targets) + len(route.refused_targets))
        + 16 * len(route.groups)
        + IDENTIFIERS_BYTES * len(route.identifiers)
        + 8 * sum([len(identifiers) for identifiers in route.identifiers.values()])
    )


def add_target(route: Route, session: Session, subscriptions: list[Subscription]) -> None:
    """Add a session to a route, with all its matching subscriptions."""
    target = _target_of(session, subscriptions)
    foreign = [subscription for subscription in subscriptions if not subscription.no_local]
    if len(foreign) < len(subscriptions):
        target.no_local = True
        target.local = _target_of(session, foreign) if foreign else None
        route.plain = False
    if target.retain_as_published:
        route.plain = False
    identifiers = [
        subscription.identifier for subscription in subscriptions if subscription.identifier
    ]
    if identifiers:
        route.identifiers[session] = identifiers
        route.plain = False
    route.targets.append(target)
    if session.persistent:
        route.persistent = True
        route.durable = route.durable or target.qos > 0


def add_refused(route: Route, session: Session, subscriptions: list[Subscription]) -> None:
    """Record in a route that a subscribed session may not receive the topic's messages."""
    route.refused += 1
    target = _target_of(session, subscriptions)
    for subscription in subscriptions:
        target.no_local = target.no_local or subscription.no_local
    if session.persistent and target.qos:
        route.refused_targets.append(target)
        route.durable = True


def _target_of(session: Session, subscriptions: list[Subscription]) -> Target:
    qos = max([subscription.qos for subscription in subscriptions])
    kept = [subscription for subscription in subscriptions if subscription.retain_as_published]
    return Target(session, qos, bool(kept))


def add_group(route: Route, group: Group) -> None:
    """Add the group of a shared subscription to a route."""
    route.groups.append(group)
    route.plain = False
    for session, subscription in group.members.items():
        if session.persistent:
            route.persistent = True
            route.durable = route.durable or subscription.qos > 0

"""Where a topic leads: sessions, each once, and shared subscriptions, one member of each.

A route is made by the topic tree and kept until a subscription changes.
"""

from typing import Final

from gateway.core.session import Session, Subscription

SYSTEM: Final = "$SYS"
"""The first level of the topics that are the broker's own (section 4.7.2)."""


def is_system_topic(topic: str) -> bool:
    """Return whether a topic, or a filter, lies under `$SYS`."""
    return topic.startswith(SYSTEM) and (len(topic) == 4 or topic[4] == "/")


class Target:
    """One session that a topic reaches, with the highest QoS its matching filters grant."""

    def __init__(self, session: Session, qos: int, retain_as_published: bool) -> None:
        self.session = session
        self.qos = qos
        self.retain_as_published = retain_as_published
        self.no_local = False
        """Something else holds for messages the session itself published [MQTT5-3.8.3-3]."""
        self.local: Target | None = None
        """With `no_local`, what holds for those: None, it does not get them. Never the target
        itself: such a cycle would keep sessions until the garbage collector finds it."""


class Group:
    """The members of a shared subscription: each message goes to one of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[Session, Subscription] = {}
        self.next_member = 0

    def choose(self, window: int, but: Session | None) -> Session | None:
        """Return the member whose turn it is: fair among the connected with an open window.

        Then the connected, then those that keep messages while away; None if there is nobody.
        """
        members = [session for session in self.members if session is not but]
        best: Session | None = None
        best_rank = 0
        for offset in range(len(members)):
            index = (self.next_member + offset) % len(members)
            rank = _readiness(members[index], window)
            if rank > best_rank:
                best, best_rank = members[index], rank
                chosen = index
                if rank == 3:
                    break
        if best is not None:
            self.next_member = chosen + 1
        return best


def _readiness(session: Session, window: int) -> int:
    connection = session.connection
    if connection is None:
        return 1 if session.durable else 0
    is_open = connection.writable and not session.queued_count
    return 3 if is_open and len(session.outbound) < min(window, connection.receive_maximum) else 2


class Route:
    """All sessions that a topic reaches, each once, and groups, one member of each."""

    def __init__(self, topic: str, logged: bool) -> None:
        self.topic = topic
        self.targets: list[Target] = []
        self.groups: list[Group] = []
        self.identifiers: dict[Session, list[int]] = {}
        """Subscription identifiers, where there are any; not those of shared subscriptions."""
        self.durable = False
        """A session among them keeps QoS 1 and 2 messages over a power cut."""
        self.persistent = False
        """A durable session is among them, whatever QoS it was granted."""
        self.plain = True
        """No member has options: a QoS 0 PUBLISH may be sent on as the bytes it came in."""
        self.is_system = is_system_topic(topic)
        """Clients may not publish to it."""
        self.logged = logged
        """The session log keeps the contents of messages with this topic."""

    def count(self) -> int:
        """Return how many sessions get a message."""
        return len(self.targets) + len(self.groups)


def add_target(route: Route, session: Session, subscriptions: list[Subscription]) -> None:
    """Let a route reach a session through all its subscriptions that match."""
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
    if session.durable:
        route.persistent = True
        route.durable = route.durable or target.qos > 0


def _target_of(session: Session, subscriptions: list[Subscription]) -> Target:
    qos = max([subscription.qos for subscription in subscriptions])
    kept = [subscription for subscription in subscriptions if subscription.retain_as_published]
    return Target(session, qos, bool(kept))


def add_group(route: Route, group: Group) -> None:
    """Let a route reach one member of a shared subscription."""
    route.groups.append(group)
    route.plain = False
    for session, subscription in group.members.items():
        if session.durable:
            route.persistent = True
            route.durable = route.durable or subscription.qos > 0

"""Lookup of the subscribers of a topic, and of retained messages that match a filter.

There is a tree of filters and a tree of topics. The result for a topic is cached as its `Route`, so
publishing to the topic again costs one dictionary lookup. Shared subscriptions
(MQTT 5.0 section 4.8.2) are in the tree of filters too, without the prefix `$share/<name>/`.
"""

from collections.abc import Callable

from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription, own_bytes_of, split_shared
from gateway.broker.core.topics.levels import Levels, Missing, Node
from gateway.broker.core.topics.route import (
    Group,
    Route,
    add_group,
    add_refused,
    add_target,
    is_system_topic,
    memory_bytes_of,
)
from gateway.broker.core.work import RETAINED_UNITS, Work

# Not Final, so that tests can use a smaller value.
ROUTES_BYTES_MAX: int = 16 * 1024 * 1024
"""Maximum memory in bytes of the cached routes: enough for 25,000 topics with two subscribers each.
A fleet of sensors has fewer. A flood of new topics empties the cache."""


class TopicTree:
    """Subscriptions and retained messages, in trees of topic levels."""

    def __init__(self, logged_filters: list[str]) -> None:
        self.filters = Levels(True)
        self.topics = Levels(False)
        self.routes: dict[str, Route] = {}
        self.routes_bytes = 0
        self.subscription_count = 0
        self.subscriptions_own_bytes = 0
        self.shared_count = 0
        self.system_count = 0
        """Number of subscriptions below `$SYS`, including shared ones."""
        self.retained_count = 0
        self.refuses: Callable[[Session, str], bool] | None = None
        """Function that returns True if a session must not receive a topic. None if no client is
        restricted."""
        self.scope_of: Callable[[Session, Subscription], str] | None = None
        """Function that returns the suffix of a shared subscription's group, so that users have
        their own groups. If it is None, all clients share the groups."""
        self.work = Work()
        """Counter of work. A visited level or a found subscription costs one unit."""
        self.logged = Levels(False)
        self.log_topics(logged_filters)

    def log_topics(self, logged_filters: list[str]) -> None:
        """Set the topic filters whose messages are always recorded in the session log."""
        self.logged = Levels(False)
        marker = Session(0, "", False)
        for topic_filter in logged_filters:
            node = self.logged.grow(topic_filter)
            node.subscribers = {marker: Subscription(topic_filter, 0, 0)}
        self.forget_all_routes()

    def subscription_bytes(self) -> int:
        """Return the memory size of all subscriptions in bytes."""
        return self.filters.size_bytes + self.subscriptions_own_bytes

    def missing_for(self, whole_filter: str) -> Missing:
        """Return how much memory and how many wildcard patterns a new subscription would add."""
        _, topic_filter = split_shared(whole_filter)
        missing = self.filters.missing(topic_filter)
        missing.size_bytes += own_bytes_of(whole_filter)
        return missing

    def subscribe(
        self, session: Session, subscription: Subscription, replaced: Subscription | None = None
    ) -> None:
        """Add a subscription, or replace one that has the same filter [MQTT-3.8.4-3].

        `replaced` is the session's previous subscription with this filter, or None.
        """
        _, topic_filter = split_shared(subscription.topic_filter)
        group_name = self._group_name_of(session, subscription)
        if replaced is not None and replaced.group != group_name:
            self.unsubscribe(session, replaced)
        members = _members_to_join(self.filters.grow(topic_filter), group_name, subscription)
        before = members.get(session)
        if before is None:
            self.subscription_count += 1
            self.subscriptions_own_bytes += own_bytes_of(subscription.topic_filter)
            self.shared_count += 1 if group_name else 0
            self.system_count += 1 if is_system_topic(topic_filter) else 0
        members[session] = subscription
        if (
            before is None
            or before.options != subscription.options
            or before.identifier != subscription.identifier
        ):
            self._forget_routes(topic_filter)

    def regroup(self, session: Session) -> None:
        """Move a session's shared subscriptions to the groups that its current rights allow."""
        for subscription in session.subscriptions.values():
            group_name = self._group_name_of(session, subscription)
            if subscription.group != group_name:
                self.unsubscribe(session, subscription)
                self.subscribe(session, subscription)

    def _group_name_of(self, session: Session, subscription: Subscription) -> str:
        """Return the name of a shared subscription's group, or "" for other subscriptions."""
        name, _ = split_shared(subscription.topic_filter)
        if not name or self.scope_of is None:
            return name
        return name + self.scope_of(session, subscription)

    def unsubscribe(self, session: Session, subscription: Subscription) -> None:
        """Remove a subscription of a session, if it exists."""
        whole_filter, group_name = subscription.topic_filter, subscription.group
        _, topic_filter = split_shared(whole_filter)
        path = self.filters.path(topic_filter)
        if path is None:
            return
        node = path[-1]
        members = _members_of(node, group_name)
        if members is None or session not in members:
            return
        del members[session]
        self.subscription_count -= 1
        self.subscriptions_own_bytes -= own_bytes_of(whole_filter)
        self.system_count -= 1 if is_system_topic(topic_filter) else 0
        if group_name:
            self.shared_count -= 1
        _remove_empty(node, group_name)
        self.filters.prune(path)
        self._forget_routes(topic_filter)

    def group_of(self, subscription: Subscription) -> Group | None:
        """Return the group of a shared subscription, or None if there is no such group."""
        _, topic_filter = split_shared(subscription.topic_filter)
        path = self.filters.path(topic_filter)
        if path is None:
            return None
        groups = path[-1].groups
        return None if groups is None else groups.get(subscription.group)

    def route_of(self, topic: str) -> Route:
        """Return the receivers of a topic's messages. Each session occurs once [MQTT-3.3.5-1]."""
        route = self.routes.get(topic)
        if route is None:
            route = self._find_route(topic)
            size_bytes = memory_bytes_of(route)
            if self.routes_bytes + size_bytes > ROUTES_BYTES_MAX:
                self.forget_all_routes()
            self.routes[topic] = route
            self.routes_bytes += size_bytes
        return route

    def set_retained(self, topic: str, message: Message | None) -> None:
        """Store the topic's retained message. If `message` is None, remove the stored message."""
        self.work.spent += RETAINED_UNITS
        if message is not None:
            node = self.topics.grow(topic)
            if node.retained is None:
                self.retained_count += 1
            node.retained = message
            return
        path = self.topics.path(topic)
        if path is not None and path[-1].retained is not None:
            path[-1].retained = None
            self.retained_count -= 1
            self.topics.prune(path)

    def _find_route(self, topic: str) -> Route:
        levels = topic.split("/")
        logged: list[Node] = []
        _collect(self.logged.root, levels, logged)
        route = Route(topic, bool(logged))
        nodes: list[Node] = []
        self.work.spent += _collect(self.filters.root, levels, nodes)
        matching: dict[Session, list[Subscription]] = {}
        for node in nodes:
            if node.subscribers is not None:
                self.work.spent += len(node.subscribers)
                for session, subscription in node.subscribers.items():
                    matching.setdefault(session, []).append(subscription)
            if node.groups is not None:
                for group in node.groups.values():
                    self.work.spent += len(group.members)
                    if self._is_for_some(group, topic):
                        add_group(route, group)
                    else:
                        route.refused += 1
        for session, subscriptions in matching.items():
            if self.refuses is not None and self.refuses(session, topic):
                add_refused(route, session, subscriptions)
            else:
                add_target(route, session, subscriptions)
        if route.refused:
            route.plain = False
        return route

    def _is_for_some(self, group: Group, topic: str) -> bool:
        refuses = self.refuses
        if refuses is None:
            return True
        return not all(refuses(session, topic) for session in group.members)

    def _forget_routes(self, topic_filter: str) -> None:
        if "+" in topic_filter or "#" in topic_filter:
            self.forget_all_routes()
            return
        route = self.routes.pop(topic_filter, None)
        if route is not None:
            self.routes_bytes -= memory_bytes_of(route)

    def forget_all_routes(self) -> None:
        """Clear the cached routes, because subscriptions or access rules have changed."""
        self.routes.clear()
        self.routes_bytes = 0


def _members_to_join(
    node: Node, group_name: str, subscription: Subscription
) -> dict[Session, Subscription]:
    """Return the dictionary in which a session's subscription must be stored.

    For a shared subscription, the dictionary contains the members of the group `group_name`.
    Otherwise it contains the subscribers of the topic level. A missing dictionary is created.
    """
    if not group_name:
        if node.subscribers is None:
            node.subscribers = {}
        return node.subscribers
    if node.groups is None:
        node.groups = {}
    group = node.groups.get(group_name)
    if group is None:
        group = Group(group_name)
        node.groups[group_name] = group
    subscription.group = group.name  # one text for all members
    return group.members


def _members_of(node: Node, group_name: str) -> dict[Session, Subscription] | None:
    if not group_name:
        return node.subscribers
    group = None if node.groups is None else node.groups.get(group_name)
    return None if group is None else group.members


def _remove_empty(node: Node, group_name: str) -> None:
    """Remove empty dictionaries of subscribers and groups from a topic level."""
    if not node.subscribers:
        node.subscribers = None
    groups = node.groups
    if groups is None or not group_name:
        return
    if not groups[group_name].members:
        del groups[group_name]
    if not groups:
        node.groups = None


# An explicit stack is used: `max_topic_levels` may exceed the interpreter's recursion limit.


def _collect(root: Node, levels: list[str], found: list[Node]) -> int:
    """Append the nodes of all filters that match a topic (section 4.7) to `found`.

    `levels` are the topic's levels. Return the number of visited nodes, which determines the cost
    of the search.
    """
    # [MQTT-4.7.2-1] a leading wildcard does not match a topic that begins with $
    hidden = levels[0].startswith("$")
    stack: list[tuple[Node, int]] = [(root, 0)]
    visited = 0
    while stack:
        node, index = stack.pop()
        visited += 1
        if node.only is None and node.children is None:
            if index == len(levels):
                found.append(node)
            continue
        wild = index > 0 or not hidden
        if wild:
            rest = node.child("#")
            if rest is not None:  # "#" also matches its parent level (section 4.7.1.2)
                found.append(rest)
        if index == len(levels):
            found.append(node)
            continue
        child = node.child(levels[index])
        if child is not None:
            stack.append((child, index + 1))
        if wild:
            single = node.child("+")
            if single is not None:
                stack.append((single, index + 1))
    return visited

"""Who subscribes to a topic, and which retained messages a filter selects.

A tree of topic levels answers both; what a topic matched is kept as its `Route`, so that a topic
that is published again costs one dictionary lookup. Shared subscriptions of MQTT 5.0 (section
4.8.2) hang in the same tree as groups, by their filter without `$share/<name>/`.
"""

from typing import Final

from gateway.core.routes import Group, Route, add_group, add_target, is_system_topic
from gateway.core.session import Message, Session, Subscription, names_group

ROUTES_CACHED_MAX: Final = 10_000
"""Routes kept, in topics. A fleet of sensors has fewer; a flood of new topics empties the cache."""


class Node:
    """One topic level."""

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.subscribers: dict[Session, Subscription] = {}
        self.groups: dict[str, Group] = {}
        self.retained: Message | None = None

    def is_empty(self) -> bool:
        """Return whether nothing hangs on this level."""
        return not (self.children or self.subscribers or self.groups or self.retained is not None)


class TopicTree:
    """Subscriptions and retained messages by topic level."""

    def __init__(self, logged_filters: list[str]) -> None:
        self.root = Node()
        self.routes: dict[str, Route] = {}
        self.subscription_count = 0
        self.shared_count = 0
        self.system_count = 0
        """Subscriptions to what is under `$SYS`, shared ones included."""
        self.retained_count = 0
        self.logged = Node()
        marker = Session(0, "", False)
        for topic_filter in logged_filters:
            node = _grow(self.logged, topic_filter)
            node.subscribers[marker] = Subscription(topic_filter, 0, 0)

    def subscribe(self, session: Session, subscription: Subscription) -> None:
        """Add a subscription, or replace the one with the same filter [MQTT-3.8.4-3]."""
        group_name, topic_filter = split_shared(subscription.topic_filter)
        node = _grow(self.root, topic_filter)
        members = node.subscribers
        if group_name:
            group = node.groups.get(group_name)
            if group is None:
                group = Group(group_name)
                node.groups[group_name] = group
            members = group.members
        if session not in members:
            self.subscription_count += 1
            self.shared_count += 1 if group_name else 0
            self.system_count += 1 if is_system_topic(topic_filter) else 0
        members[session] = subscription
        self._forget_routes(topic_filter)

    def unsubscribe(self, session: Session, whole_filter: str) -> None:
        """Remove a subscription if it is there."""
        group_name, topic_filter = split_shared(whole_filter)
        path = _path(self.root, topic_filter)
        if path is None:
            return
        node = path[-1]
        members = node.subscribers
        if group_name:
            if group_name not in node.groups:
                return
            members = node.groups[group_name].members
        if session not in members:
            return
        del members[session]
        self.subscription_count -= 1
        self.system_count -= 1 if is_system_topic(topic_filter) else 0
        if group_name:
            self.shared_count -= 1
            if not members:
                del node.groups[group_name]
        _prune(path, topic_filter)
        self._forget_routes(topic_filter)

    def group_of(self, subscription: Subscription) -> Group | None:
        """Return the group of a shared subscription."""
        group_name, topic_filter = split_shared(subscription.topic_filter)
        path = _path(self.root, topic_filter)
        return None if path is None else path[-1].groups.get(group_name)

    def route_of(self, topic: str) -> Route:
        """Return everyone a topic reaches; overlapping filters count once [MQTT-3.3.5-1]."""
        route = self.routes.get(topic)
        if route is None:
            route = self._find_route(topic)
            if len(self.routes) >= ROUTES_CACHED_MAX:
                self.routes.clear()
            self.routes[topic] = route
        return route

    def set_retained(self, topic: str, message: Message | None) -> None:
        """Keep `message` as the topic's retained message; None removes it."""
        if message is not None:
            node = _grow(self.root, topic)
            if node.retained is None:
                self.retained_count += 1
            node.retained = message
            return
        path = _path(self.root, topic)
        if path is not None and path[-1].retained is not None:
            path[-1].retained = None
            self.retained_count -= 1
            _prune(path, topic)

    def _find_route(self, topic: str) -> Route:
        levels = topic.split("/")
        logged: list[Node] = []
        _collect(self.logged, levels, logged)
        route = Route(topic, bool(logged))
        nodes: list[Node] = []
        _collect(self.root, levels, nodes)
        matching: dict[Session, list[Subscription]] = {}
        for node in nodes:
            for session, subscription in node.subscribers.items():
                matching.setdefault(session, []).append(subscription)
            for group in node.groups.values():
                add_group(route, group)
        for session, subscriptions in matching.items():
            add_target(route, session, subscriptions)
        return route

    def _forget_routes(self, topic_filter: str) -> None:
        if "+" in topic_filter or "#" in topic_filter:
            self.routes.clear()
        else:
            self.routes.pop(topic_filter, None)


def split_shared(topic_filter: str) -> tuple[str, str]:
    """Return group name and filter of a shared subscription; the name is empty for others."""
    if not names_group(topic_filter):
        return "", topic_filter
    _, name, rest = topic_filter.split("/", 2)
    return name, rest


def _grow(root: Node, topic_filter: str) -> Node:
    node = root
    for level in topic_filter.split("/"):
        child = node.children.get(level)
        if child is None:
            child = Node()
            node.children[level] = child
        node = child
    return node


def _path(root: Node, topic_filter: str) -> list[Node] | None:
    node = root
    path = [root]
    for level in topic_filter.split("/"):
        child = node.children.get(level)
        if child is None:
            return None
        path.append(child)
        node = child
    return path


def _prune(path: list[Node], topic_filter: str) -> None:
    levels = topic_filter.split("/")
    for index in range(len(levels) - 1, -1, -1):
        if not path[index + 1].is_empty():
            return
        del path[index].children[levels[index]]


# Explicit stacks below: `max_topic_levels` may be far beyond the interpreter's recursion limit.


def _collect(root: Node, levels: list[str], found: list[Node]) -> None:
    """Collect the nodes of all filters that match the topic's levels (section 4.7)."""
    # [MQTT-4.7.2-1] a leading wildcard does not match a topic that begins with $
    hidden = levels[0].startswith("$")
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, index = stack.pop()
        wild = index > 0 or not hidden
        if wild:
            rest = node.children.get("#")
            if rest is not None:  # "#" also matches its parent level (section 4.7.1.2)
                found.append(rest)
        if index == len(levels):
            found.append(node)
            continue
        child = node.children.get(levels[index])
        if child is not None:
            stack.append((child, index + 1))
        if wild:
            single = node.children.get("+")
            if single is not None:
                stack.append((single, index + 1))

"""Tree of topic levels, for filters with subscribers or for topics with retained messages.

To look up a topic, the tree is searched level by level. At each level, the search follows both the
name in the topic and `+`. Two levels have the same *pattern* if they are at the same depth and
their paths have `+` at the same positions. A topic matches at most one level of each pattern, so a
limit on the number of patterns also limits the time for a lookup.

The tree tracks its memory size. Most levels have a single child, and need no dictionary.
"""

from typing import Final

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.topics.route import Group

LEVEL_BYTES: Final = 256
"""Memory of a level in bytes: the object, its name without the characters, and its entry among its
siblings. Measured with the compiled core: 170 in a chain, 230 among 100,000 siblings, 250 as one of
two."""

CHILDREN_BYTES: Final = 256
"""Memory of the dictionary of a level with two or more children, in bytes."""

SHRUNK_COUNT_MIN: Final = 64
"""Minimum former size of a dictionary that is rebuilt when fewer than a quarter of its entries are
left. A Python dictionary never shrinks by itself."""


class Pattern:
    """Positions of `+` in the path to a level. Levels with the same positions share one object."""

    def __init__(self, above: "Pattern | None", is_single: bool) -> None:
        self.above = above
        self.is_single = is_single
        self.has_wildcard: bool = is_single or (above is not None and above.has_wildcard)
        """True if there is a `+` at or above this level."""
        self.named: Pattern | None = None
        self.single: Pattern | None = None
        self.levels = 0
        """Number of levels with this pattern."""


class Node:
    """A topic level, with its subscribers, groups or retained message."""

    def __init__(self, name: str, pattern: Pattern | None) -> None:
        self.name = name
        self.pattern = pattern
        """None in a tree of topics, which has no wildcards."""
        self.only: Node | None = None
        """The only child, if there is exactly one."""
        self.children: dict[str, Node] | None = None
        """The children by name, if there are two or more."""
        self.children_max = 0
        """The largest number of entries that the dictionary has had."""
        self.subscribers: dict[Session, Subscription] | None = None
        self.groups: dict[str, Group] | None = None
        self.retained: Message | None = None

    def child(self, name: str) -> "Node | None":
        """Return the child level with this name, or None if there is no such child."""
        if self.children is not None:
            return self.children.get(name)
        only = self.only
        return only if only is not None and only.name == name else None

    def below(self) -> "list[Node]":
        """Return all child levels."""
        if self.children is not None:
            return list(self.children.values())
        return [] if self.only is None else [self.only]

    def is_empty(self) -> bool:
        """Return True if the level has no children, subscribers, groups or retained message."""
        return (
            self.only is None
            and not self.children
            and not self.subscribers
            and not self.groups
            and self.retained is None
        )


class Levels:
    """A tree of topic levels, with counters for its memory size and its wildcard patterns."""

    def __init__(self, has_patterns: bool) -> None:
        self.root = Node("", Pattern(None, False) if has_patterns else None)
        self.size_bytes = 0
        """Memory of the tree in bytes."""
        self.wildcard_patterns = 0
        """The maximum number of levels that a lookup visits in addition to those of the topic."""

    def grow(self, topic_filter: str) -> Node:
        """Return the last level of a topic or filter. Create any missing levels."""
        node = self.root
        for name in topic_filter.split("/"):
            child = node.child(name)
            if child is None:
                child = self._add_child(node, name)
            node = child
        return node

    def path(self, topic_filter: str) -> list[Node] | None:
        """Return the nodes for a topic or filter, from the root of the tree to the last level.

        Return None if the tree does not contain all levels of the topic or filter.
        """
        node = self.root
        path = [node]
        for name in topic_filter.split("/"):
            child = node.child(name)
            if child is None:
                return None
            path.append(child)
            node = child
        return path

    def prune(self, path: list[Node]) -> None:
        """Remove the empty levels at the end of a path from the tree."""
        for index in range(len(path) - 1, 0, -1):
            if not path[index].is_empty():
                return
            self._remove(path[index - 1], path[index])

    def missing(self, topic_filter: str) -> "Missing":
        """Return how much memory and how many wildcard patterns a topic or filter would add."""
        missing = Missing()
        node: Node | None = self.root
        pattern = self.root.pattern
        is_known = True
        has_wildcard = False
        for name in topic_filter.split("/"):
            child = None if node is None else node.child(name)
            if child is None:
                missing.size_bytes += LEVEL_BYTES + text_bytes_of(name)
                if node is not None and (node.only is not None and node.children is None):
                    missing.size_bytes += CHILDREN_BYTES
            node = child
            has_wildcard = has_wildcard or name == "+"
            if is_known and pattern is not None:
                pattern = pattern.single if name == "+" else pattern.named
                is_known = pattern is not None
            if not is_known and has_wildcard:
                missing.wildcard_patterns += 1
        return missing

    def _add_child(self, parent: Node, name: str) -> Node:
        child = Node(name, self._pattern_below(parent.pattern, name == "+"))
        self.size_bytes += LEVEL_BYTES + text_bytes_of(name)
        if parent.children is not None:
            parent.children[name] = child
            parent.children_max = max(parent.children_max, len(parent.children))
        elif parent.only is None:
            parent.only = child
        else:
            parent.children = {parent.only.name: parent.only, name: child}
            parent.only = None
            self.size_bytes += CHILDREN_BYTES
        return child

    def _remove(self, parent: Node, child: Node) -> None:
        self.size_bytes -= LEVEL_BYTES + text_bytes_of(child.name)
        self._remove_pattern(child.pattern)
        children = parent.children
        if children is None:
            parent.only = None
            return
        del children[child.name]
        if len(children) == 1:
            parent.only = next(iter(children.values()))
            parent.children = None
            parent.children_max = 0
            self.size_bytes -= CHILDREN_BYTES
        elif parent.children_max > max(SHRUNK_COUNT_MIN, 4 * len(children)):
            parent.children = dict(children)
            parent.children_max = len(children)

    # -- patterns

    def _pattern_below(self, above: Pattern | None, is_single: bool) -> Pattern | None:
        if above is None:
            return None
        pattern = above.single if is_single else above.named
        if pattern is None:
            pattern = Pattern(above, is_single)
            if is_single:
                above.single = pattern
            else:
                above.named = pattern
            self.wildcard_patterns += 1 if pattern.has_wildcard else 0
        pattern.levels += 1
        return pattern

    def _remove_pattern(self, pattern: Pattern | None) -> None:
        if pattern is None:
            return
        pattern.levels -= 1
        above = pattern.above
        if pattern.levels or above is None:
            return
        # The levels below have already been removed.
        if pattern.is_single:
            above.single = None
        else:
            above.named = None
        pattern.above = None
        self.wildcard_patterns -= 1 if pattern.has_wildcard else 0


class Missing:
    """The memory and the number of wildcard patterns that a filter would add to the tree."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.wildcard_patterns = 0

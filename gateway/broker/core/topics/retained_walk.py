"""Search for the retained messages that match a filter, in steps of limited length.

The search is divided into steps because a filter can match all retained messages. The tree may
change between two steps. If a level is removed in the meantime, the search finds nothing there. If
a message is retained in the meantime, the search may miss it, but the subscriber also receives it
as a normal message.
"""

from typing import Final

from gateway.broker.core.sessions.message import Message
from gateway.broker.core.topics.levels import Node

BELOW: Final = -1
"""Depth of all levels below a `#`."""


class _Siblings:
    """Topic levels at the same depth that have not been visited yet."""

    def __init__(self, nodes: list[Node], depth: int) -> None:
        self.nodes = nodes
        self.depth = depth


class RetainedWalk:
    """A walk through the tree to find retained messages, with a stack instead of recursion.

    Recursion could become too deep, because the limit `max_topic_levels` can be large.
    """

    def __init__(self, root: Node, topic_filter: str) -> None:
        self.levels = topic_filter.split("/")
        self.stack = [_Siblings([root], 0)]

    def is_over(self) -> bool:
        """Return True if all levels have been visited."""
        return not self.stack

    def step(self, levels: int) -> list[Message]:
        """Visit up to `levels` further topic levels, and return their retained messages."""
        found: list[Message] = []
        while levels and self.stack:
            siblings = self.stack[-1]
            if siblings.nodes:
                self._visit(siblings.nodes.pop(), siblings.depth, found)
                levels -= 1
            else:
                self.stack.pop()
        return found

    def _visit(self, node: Node, depth: int, found: list[Message]) -> None:
        if depth == BELOW:
            self._find(node, found)
            self._push(node.below(), BELOW)
        elif depth == len(self.levels):
            self._find(node, found)
        elif self.levels[depth] == "#":
            self._find(node, found)  # "#" also matches its parent level (section 4.7.1.2)
            self._push(_visible(node, depth), BELOW)
        elif self.levels[depth] == "+":
            self._push(_visible(node, depth), depth + 1)
        else:
            child = node.child(self.levels[depth])
            if child is not None:
                self._push([child], depth + 1)

    def _push(self, nodes: list[Node], depth: int) -> None:
        if nodes:
            self.stack.append(_Siblings(nodes, depth))

    @staticmethod
    def _find(node: Node, found: list[Message]) -> None:
        if node.retained is not None:
            found.append(node.retained)


def _visible(node: Node, depth: int) -> list[Node]:
    """Return the child levels that a wildcard matches.

    At the root (depth 0), names that begin with `$` do not match [MQTT-4.7.2-1].
    """
    if depth:
        return node.below()
    return [child for child in node.below() if not child.name.startswith("$")]

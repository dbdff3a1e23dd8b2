"""Topic patterns of access rules: placeholders, and a search for the first matching pattern.

A pattern is an MQTT topic filter in which `%u` stands for the user, `%c` for the client identifier
and `%%` for a percent sign. A user name or identifier must not change the meaning of a pattern. So
a pattern with `%u` or `%c` matches nothing if the value is empty, contains `+`, `#` or `/`, or
would make the first level begin with `$`. Mosquitto does the same.

`$share/GROUP/FILTER` is a pattern for shared subscriptions. In such a pattern, the group `+`
matches any group.

A pattern covers a topic filter if it matches every topic that the filter matches. A topic name is a
filter without wildcards, so the same search works for topic names and filters.
"""

import re
from typing import Final

from gateway.broker.wire.topics import is_shared_filter, validate_topic_filter

LEVELS_MAX: Final = 128
"""Levels of a pattern, at most: the default of `max_topic_levels` for the topics themselves."""

NOTHING: Final = 1 << 30
"""The number that means "no rule". It is higher than the number of any rule."""

_PLACEHOLDER = re.compile("%(.?)", re.DOTALL)
_FORBIDDEN = re.compile("[+#/\x00]")


def pattern_error(pattern: str) -> str | None:
    """Return the error in a pattern, with the fix, or None if the pattern is valid."""
    for match in _PLACEHOLDER.finditer(pattern):
        if match[1] not in ("u", "c", "%"):
            return (
                f"{match[0]!r} is no placeholder: use %u (user), %c (client id) or %% (a percent)"
            )
    group, topic_filter = split_pattern(pattern)
    if is_shared_filter(pattern) and (
        not group or not topic_filter or "#" in group or ("+" in group and group != "+")
    ):
        return "use $share/GROUP/FILTER, with + for any group"
    error = validate_topic_filter(_PLACEHOLDER.sub("x", topic_filter))
    if error is None and pattern.count("/") >= LEVELS_MAX:
        return f"the pattern has more than {LEVELS_MAX} levels"
    return error


def split_pattern(pattern: str) -> tuple[str, str]:
    """Return the group and the topic filter in a pattern of an access rule.

    The group is empty unless the pattern is for shared subscriptions.
    """
    if not is_shared_filter(pattern):
        return "", pattern
    _, group, topic_filter = (*pattern.split("/", 2), "")[:3]
    return group, topic_filter


def has_placeholder(pattern: str) -> bool:
    """Return True if a pattern contains a placeholder for the client's user or identifier."""
    return any(match[1] in ("u", "c") for match in _PLACEHOLDER.finditer(pattern))


def substituted(pattern: str, *, username: str | None, client_id: str) -> str | None:
    """Return a pattern with its placeholders replaced by the client's user name and identifier.

    The result is None if the pattern cannot match any topic for this client.
    """
    group, topic_filter = split_pattern(pattern)
    if group:
        made_group = substituted(group, username=username, client_id=client_id)
        made_filter = substituted(topic_filter, username=username, client_id=client_id)
        return None if None in (made_group, made_filter) else f"$share/{made_group}/{made_filter}"
    values = {"u": username, "c": client_id, "%": "%"}
    for match in _PLACEHOLDER.finditer(pattern):
        value = values[match[1]]
        if not value or _FORBIDDEN.search(value) is not None:
            return None
    made = _PLACEHOLDER.sub(lambda match: values[match[1]] or "", pattern)
    return None if made.startswith("$") and not pattern.startswith("$") else made


class _Node:
    """A node of a pattern search tree. Each level of the tree represents a topic level."""

    __slots__ = ("children", "entries")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.entries: list[tuple[int, int]] = []
        """Numbers and kinds of the rules whose pattern ends at this node, in ascending order."""


class PatternTree:
    """A search tree of numbered patterns. `first` finds the first pattern that covers a filter.

    A search visits only the nodes along the levels of the topic, not all patterns.
    """

    def __init__(self) -> None:
        self._root = _Node()
        self._groups: dict[str, _Node] = {}
        """Root nodes of the patterns for shared subscriptions, by group; "+" means any group."""
        self._everything: list[tuple[int, int]] = []
        self.size = 0
        """Number of patterns in the tree."""

    def add(self, pattern: str | None, number: int, kinds: int) -> None:
        """Add a pattern without placeholders. The pattern None matches all topics.

        Patterns must be added in ascending order of `number`. `kinds` is a bit mask of the kinds of
        action to which the pattern applies.
        """
        self.size += 1
        if pattern is None:
            self._everything.append((number, kinds))
            return
        group, topic_filter = split_pattern(pattern)
        node = self._groups.setdefault(group, _Node()) if group else self._root
        for level in topic_filter.split("/"):
            node = node.children.setdefault(level, _Node())
        node.entries.append((number, kinds))

    def first(self, levels: list[str], kind: int, group: str = "") -> int:
        """Return the lowest number of a pattern that applies to `kind` and covers `levels`.

        Args:
            levels: levels of a topic or filter.
            kind: bit for the kind of action.
            group: group of a shared subscription, or an empty string. If a group is given, only
                patterns for this group, and the pattern None, are searched.

        Returns:
            The number, or NOTHING if no pattern matches.
        """
        best = _first_of(self._everything, kind, NOTHING)
        if not group:
            return _first_below(self._root, levels, kind, best)
        for name in (group, "+"):
            if name in self._groups:
                best = _first_below(self._groups[name], levels, kind, best)
        return best


def _first_below(root: _Node, levels: list[str], kind: int, best: int) -> int:
    count = len(levels)
    # [MQTT-4.7.2-1] a leading wildcard does not match a topic that begins with $
    hidden = levels[0].startswith("$")
    stack = [(root, 0)]
    while stack:
        node, index = stack.pop()
        wild = index > 0 or not hidden
        children = node.children
        rest = children.get("#") if wild else None
        if rest is not None:  # "#" also matches its parent level (section 4.7.1.2)
            best = _first_of(rest.entries, kind, best)
        if index == count:
            best = _first_of(node.entries, kind, best)
            continue
        level = levels[index]
        if level == "#":
            if not index and "+" in children:
                # A topic has at least one level, so "+/#" matches the same topics as "#".
                rest = children["+"].children.get("#")
                if rest is not None:
                    best = _first_of(rest.entries, kind, best)
            continue
        single = children.get("+") if wild else None
        if single is not None:
            stack.append((single, index + 1))
        if level != "+":
            same = children.get(level)
            if same is not None:
                stack.append((same, index + 1))
    return best


def _first_of(entries: list[tuple[int, int]], kind: int, best: int) -> int:
    for number, kinds in entries:
        if number >= best:
            return best
        if kinds & kind:
            return number
    return best

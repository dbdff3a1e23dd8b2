"""Evaluates access rules: the first matching rule decides. Without a match, access is denied.

When the rules file is loaded, rules are grouped by the clients to which they apply. The rules for a
client are selected at the client's first action. Each action is then decided by a search along the
levels of the topic. Clients with the same rules share one search tree. The shared tree contains
only patterns without placeholders.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.broker.access.rules.file import RulesFile
from gateway.broker.access.rules.rule import (
    CONNECT,
    RECEIVE,
    SUBSCRIBE,
    Rule,
    publish_kind,
    subscribe_kind,
)
from gateway.broker.access.rules.topic_patterns import (
    NOTHING,
    PatternTree,
    has_placeholder,
    split_pattern,
    substituted,
)
from gateway.broker.core.permissions import AccessRules, Client
from gateway.broker.core.sessions.subscription import names_group, split_shared

# Not Final, because tests reduce it.
SHARED_PATTERNS_MAX: int = 200_000
"""Patterns in the cached trees that clients share, at most: they take about 100 MB.

If the limit is exceeded, the cache is cleared, and trees are built again when they are needed.
"""

_PUBLISH: Final = [[publish_kind(qos, retain) for retain in (False, True)] for qos in range(3)]
_SUBSCRIBE: Final = [subscribe_kind(qos) for qos in range(3)]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision about a client's action. `rule` is the deciding rule, or None if no rule matched."""

    allowed: bool
    rule: Rule | None
    group: str = ""
    """Group of an allowed shared subscription: `own` (for each user) or `common`."""


class _Rights:
    """The rules that apply to one client."""

    __slots__ = ("connect", "owner", "trees")

    def __init__(self, owner: "FileRules", connect: int, trees: list[PatternTree]) -> None:
        self.owner = owner
        self.connect = connect
        """Number of the rule that decides whether the client may connect."""
        self.trees = trees


class FileRules(AccessRules):
    """The access rules in one file. Apart from its caches, an instance never changes."""

    def __init__(self, file: RulesFile) -> None:
        self.file = file
        self._rules = file.rules
        self._allows = [rule.allow for rule in file.rules]
        self._for_user: dict[str, list[int]] = {}
        self._for_several: list[int] = []
        for number, rule in enumerate(file.rules):
            if rule.who.user is None:
                self._for_several.append(number)
            else:
                self._for_user.setdefault(rule.who.user, []).append(number)
        self._own = frozenset(
            number
            for number, rule in enumerate(file.rules)
            if any(has_placeholder(pattern) for pattern in rule.patterns or ())
        )
        """Numbers of the rules whose patterns are built for each client."""
        self._shared: dict[tuple[int, ...], PatternTree] = {}
        self._shared_size = 0

    # -- decisions for the core

    def may_connect(self, client: Client) -> bool:
        """Return True if a client may connect. `decide` describes how the rule is chosen."""
        return self._allowed(self._rights_of(client).connect)

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        """Return True if a client may publish to a topic with this QoS and RETAIN flag."""
        return self._allowed(self._first(client, topic, _PUBLISH[qos][retain]))

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if a client may subscribe to a topic filter with this QoS.

        The rule that allows the subscription must contain one pattern that covers the whole filter.
        """
        return self._allowed(min(self._first_of_filter(client, topic_filter, qos)))

    def shares_group(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if different users may be in the same group of a shared subscription.

        This is the case if the subscription is allowed by a rule with a `$share` pattern for this
        group, or by a rule without patterns.
        """
        by_filter, by_group = self._first_of_filter(client, topic_filter, qos)
        return by_group <= by_filter and self._allowed(by_group)

    def may_receive(self, client: Client, topic: str) -> bool:
        """Return True if a client may receive messages on a topic."""
        return self._allowed(self._first(client, topic, RECEIVE))

    # -- explanations for people

    def decide(
        self, client: Client, action: str, topic: str = "", *, qos: int = 0, retain: bool = False
    ) -> Decision:
        """Return the decision about a client's action, together with the rule that was applied.

        For `connect`, the first `connect` rule that matches the client decides. If there is no such
        rule, a client may connect if any rule allows the client another action.
        """
        group = ""
        if action == "connect":
            number = self._rights_of(client).connect
        elif action == "subscribe":
            number = min(self._first_of_filter(client, topic, qos))
            if names_group(topic) and self._allowed(number):
                group = "common" if self.shares_group(client, topic, qos) else "own"
        else:
            number = self._first(
                client, topic, _PUBLISH[qos][retain] if action == "publish" else RECEIVE
            )
        rule = None if number == NOTHING else self._rules[number]
        return Decision(self._allowed(number), rule, group)

    # -- search for the first matching rule

    def _allowed(self, number: int) -> bool:
        return number != NOTHING and self._allows[number]

    def _first_of_filter(self, client: Client, whole_filter: str, qos: int) -> tuple[int, int]:
        """Return the positions of the two rules that may decide a subscription.

        `whole_filter` can have a `$share` prefix, as in `$share/group/sensors/#`. The first result
        is the position of the first rule that covers `sensors/#`. The second result is the position
        of the first rule that covers `sensors/#` for the group `group`. A position is the rule's
        index in the file. It is NOTHING if no rule matches, or for the second rule without a group.
        """
        group, topic_filter = split_shared(whole_filter)
        kind = _SUBSCRIBE[qos]
        by_filter = self._first(client, topic_filter, kind)
        return by_filter, self._first(client, topic_filter, kind, group) if group else NOTHING

    def _first(self, client: Client, topic: str, kind: int, group: str = "") -> int:
        levels = topic.split("/")
        best = NOTHING
        for tree in self._rights_of(client).trees:
            found = tree.first(levels, kind, group)
            best = min(best, found)
        return best

    def _rights_of(self, client: Client) -> _Rights:
        found = client.found
        if not isinstance(found, _Rights) or found.owner is not self:
            found = client.found = self._made_for(client)
        return found

    def _about_user(self, client: Client) -> list[int]:
        if client.username is None:
            return []
        return self._about(client, self._for_user.get(client.username, ()))

    def _about(self, client: Client, numbers: Iterable[int]) -> list[int]:
        username, client_id, listener = client.username, client.client_id, client.listener
        rules = self._rules
        return [
            number
            for number in numbers
            if rules[number].who.applies_to(
                username=username, client_id=client_id, listener=listener, groups=client.groups
            )
        ]

    def _made_for(self, client: Client) -> _Rights:
        several, user_rules = self._about(client, self._for_several), self._about_user(client)
        every = sorted([*several, *user_rules])
        connect = NOTHING
        for number in every:
            rule = self._rules[number]
            if rule.kinds & CONNECT:
                connect = number
                break
            if connect == NOTHING and rule.allow:
                connect = number
        trees = [
            self._shared_tree([number for number in part if number not in self._own])
            for part in (several, user_rules)
        ]
        own = PatternTree()
        for number in every:
            if number in self._own:
                self._add_own(own, number, client)
        return _Rights(self, connect, [tree for tree in (*trees, own) if tree.size])

    def _add_own(self, tree: PatternTree, number: int, client: Client) -> None:
        rule = self._rules[number]
        for pattern in rule.patterns or ():
            made = substituted(pattern, username=client.username, client_id=client.client_id)
            if made is not None:
                _add(tree, made, number, rule)

    def _shared_tree(self, numbers: list[int]) -> PatternTree:
        key = tuple(numbers)
        tree = self._shared.get(key)
        if tree is not None:
            return tree
        tree = PatternTree()
        for number in numbers:
            rule = self._rules[number]
            for pattern in rule.patterns or (None,):
                _add(tree, None if pattern is None else pattern.replace("%%", "%"), number, rule)
        if self._shared_size + tree.size > SHARED_PATTERNS_MAX:
            self._shared.clear()
            self._shared_size = 0
        self._shared[key] = tree
        self._shared_size += tree.size
        return tree


def _add(tree: PatternTree, pattern: str | None, number: int, rule: Rule) -> None:
    """Add a rule's pattern to a search tree. `number` is the rule's position in the file.

    A rule that allows a shared subscription also allows the client to receive messages that match
    the subscription's filter. A rule that denies a shared subscription does not deny these
    messages, because the client may get them through another subscription.
    """
    group, topic_filter = ("", "") if pattern is None else split_pattern(pattern)
    if not group:
        tree.add(pattern, number, rule.kinds)
        return
    tree.add(pattern, number, rule.kinds & SUBSCRIBE)
    if rule.allow:
        tree.add(topic_filter, number, rule.kinds & RECEIVE)

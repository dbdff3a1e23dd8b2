"""Access rules as the core asks them: the first line that matches decides, no line denies.

Rules are sorted by whom they are about when they are read, and for each client once when it is
first asked about: what is left is a search by topic levels. The patterns of rules without
placeholders are shared by all clients that the same rules are about.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.access.rule import CONNECT, RECEIVE, Rule, publish_kind, subscribe_kind
from gateway.access.rules_file import RulesFile
from gateway.access.topic_patterns import NOTHING, PatternTree, has_placeholder, substituted
from gateway.core.rules.permissions import AccessRules, Client

# Not Final: tests make it small enough to be reached.
SHARED_PATTERNS_MAX: int = 200_000
"""Patterns in trees that clients share, some 100 MB; beyond it they are made again."""

_PUBLISH: Final = [[publish_kind(qos, retain) for retain in (False, True)] for qos in range(3)]
_SUBSCRIBE: Final = [subscribe_kind(qos) for qos in range(3)]


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer and the rule that gave it; None: no rule matched."""

    allowed: bool
    rule: Rule | None


class _Rights:
    """What the rules say about one client."""

    __slots__ = ("connect", "owner", "trees")

    def __init__(self, owner: "FileRules", connect: int, trees: list[PatternTree]) -> None:
        self.owner = owner
        self.connect = connect
        """The number of the rule that decides whether it is let in."""
        self.trees = trees


class FileRules(AccessRules):
    """The rules of one file. Immutable, but for what is kept to be found faster."""

    def __init__(self, file: RulesFile) -> None:
        self.file = file
        self._rules = file.rules
        self._allows = [rule.allow for rule in file.rules]
        self._of_user: dict[str, list[int]] = {}
        self._of_several: list[int] = []
        for number, rule in enumerate(file.rules):
            if rule.who.user is None:
                self._of_several.append(number)
            else:
                self._of_user.setdefault(rule.who.user, []).append(number)
        self._own = frozenset(
            number
            for number, rule in enumerate(file.rules)
            if any(has_placeholder(pattern) for pattern in rule.patterns or ())
        )
        """Rules whose patterns are made for each client."""
        self._shared: dict[tuple[int, ...], PatternTree] = {}
        self._shared_size = 0

    # -- the questions of the core

    def may_connect(self, client: Client) -> bool:
        """Return whether a client is let in: see `decide`."""
        return self._allowed(self._rights_of(client).connect)

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        """Return whether a client may publish to a topic."""
        return self._allowed(self._first(client, topic, _PUBLISH[qos][retain]))

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return whether a client may subscribe: one pattern has to cover the whole filter."""
        return self._allowed(self._first(client, topic_filter, _SUBSCRIBE[qos]))

    def may_receive(self, client: Client, topic: str) -> bool:
        """Return whether a client may receive messages of a topic."""
        return self._allowed(self._first(client, topic, RECEIVE))

    # -- for people

    def decide(
        self, client: Client, action: str, topic: str = "", *, qos: int = 0, retain: bool = False
    ) -> Decision:
        """Return the answer to a question, and the rule that gives it.

        `connect` is decided by the first line about it that matches the client; without one, a
        client that may do anything is let in, by the first line that allows something.
        """
        if action == "connect":
            number = self._rights_of(client).connect
        else:
            kinds = {"publish": _PUBLISH[qos][retain], "subscribe": _SUBSCRIBE[qos]}
            number = self._first(client, topic, kinds.get(action, RECEIVE))
        rule = None if number == NOTHING else self._rules[number]
        return Decision(self._allowed(number), rule)

    # -- how they are answered

    def _allowed(self, number: int) -> bool:
        return number != NOTHING and self._allows[number]

    def _first(self, client: Client, topic: str, kind: int) -> int:
        levels = topic.split("/")
        best = NOTHING
        for tree in self._rights_of(client).trees:
            found = tree.first(levels, kind)
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
        return self._about(client, self._of_user.get(client.username, ()))

    def _about(self, client: Client, numbers: Iterable[int]) -> list[int]:
        username, client_id, listener = client.username, client.client_id, client.listener
        rules = self._rules
        return [
            number
            for number in numbers
            if rules[number].who.is_about(
                username=username, client_id=client_id, listener=listener, groups=client.groups
            )
        ]

    def _made_for(self, client: Client) -> _Rights:
        several, of_user = self._about(client, self._of_several), self._about_user(client)
        every = sorted([*several, *of_user])
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
            for part in (several, of_user)
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
                tree.add(made, number, rule.kinds)

    def _shared_tree(self, numbers: list[int]) -> PatternTree:
        key = tuple(numbers)
        tree = self._shared.get(key)
        if tree is not None:
            return tree
        tree = PatternTree()
        for number in numbers:
            rule = self._rules[number]
            for pattern in rule.patterns or (None,):
                plain = None if pattern is None else pattern.replace("%%", "%")
                tree.add(plain, number, rule.kinds)
        if self._shared_size + tree.size > SHARED_PATTERNS_MAX:
            self._shared.clear()
            self._shared_size = 0
        self._shared[key] = tree
        self._shared_size += tree.size
        return tree

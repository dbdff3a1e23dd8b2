"""An access rule: the clients to which it applies, its decision, and its line in the file."""

from dataclasses import dataclass
from typing import Final

USER_PLACEHOLDER: Final = "%u"

CONNECT: Final = 1 << 10
RECEIVE: Final = 1 << 9
_SUBSCRIBE_SHIFT: Final = 6
SUBSCRIBE: Final = 7 << _SUBSCRIBE_SHIFT
"""Bit mask of all subscribe actions, with one bit for each QoS.

The lower bits represent publish actions, one for each pair of QoS and RETAIN flag."""


def publish_kind(qos: int, retain: bool) -> int:
    """Return a bit mask that represents publishing with this QoS and RETAIN flag."""
    return 1 << (2 * qos + retain)


def subscribe_kind(qos: int) -> int:
    """Return a bit mask that represents subscribing with this QoS."""
    return 1 << (_SUBSCRIBE_SHIFT + qos)


@dataclass(frozen=True, slots=True)
class ClientPattern:
    """Pattern for client identifiers or listener names. `*` matches any sequence of characters.

    In a pattern for client identifiers, `%u` is replaced by the client's user name.
    """

    text: str

    def matches(self, name: str, username: str | None = None) -> bool:
        """Return True if `name` matches the pattern. The time is proportional to the name's length.

        A pattern with `%u` matches nothing if `username` is None or empty. A `*` in the user name
        is not a wildcard.
        """
        parts = self.text.split("*")
        if USER_PLACEHOLDER in self.text:
            if not username:
                return False
            parts = [part.replace(USER_PLACEHOLDER, username) for part in parts]
        if len(parts) == 1:
            return name == parts[0]
        first, *middle, last = parts
        end = len(name) - len(last)
        if len(first) > end or not (name.startswith(first) and name.endswith(last)):
            return False
        start = len(first)
        for part in middle:
            found = name.find(part, start, end)
            if found < 0:
                return False
            start = found + len(part)
        return True


@dataclass(frozen=True, slots=True)
class ClientConditions:
    """Conditions that a client must meet for a rule to apply. The condition None is always met."""

    user: str | None = None
    """Name of the only user to which the rule applies."""
    named: bool | None = None
    """True for any authenticated user, False for clients without a user."""
    members: frozenset[str] | None = None
    """Users of the group to which the rule applies."""
    group: str | None = None
    """Name of the group. A token may add its user to the group."""
    client: ClientPattern | None = None
    listener: ClientPattern | None = None

    def applies_to(
        self,
        *,
        username: str | None,
        client_id: str,
        listener: str,
        groups: frozenset[str] = frozenset(),
    ) -> bool:
        """Return True if a client with the given properties meets all conditions.

        `listener` is empty for a stored session whose client has not connected since the broker's
        start. If such a session has no user, it meets every condition on the listener, so that it
        keeps its rights. If it has a user, it meets only the listener condition `*`.
        """
        if self.user is not None and username != self.user:
            return False
        if self.named is not None and (username is not None) != self.named:
            return False
        if self.members is not None and not (username in self.members or self.group in groups):
            return False
        if self.client is not None and not self.client.matches(client_id, username):
            return False
        if self.listener is None or (not listener and username is None):
            return True
        return self.listener.matches(listener)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in the access rules file, with its position and text."""

    line: int
    """Line number in the file, starting at 1."""
    text: str
    """The rule as written in the file."""
    allow: bool
    who: ClientConditions
    kinds: int
    """The kinds of actions that the rule decides, as a bit mask."""
    patterns: tuple[str, ...] | None
    """Topic patterns with their placeholders, or None for all topics."""

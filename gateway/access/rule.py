"""One access rule: whom it is about, what it decides, and where in the file it stands."""

from dataclasses import dataclass
from typing import Final

USER_PLACEHOLDER: Final = "%u"

CONNECT: Final = 1 << 10
RECEIVE: Final = 1 << 9
_SUBSCRIBE_SHIFT: Final = 6
SUBSCRIBE: Final = 7 << _SUBSCRIBE_SHIFT
"""Kinds of questions are bits: PUBLISH by QoS and RETAIN, then SUBSCRIBE by QoS."""


def publish_kind(qos: int, retain: bool) -> int:
    """Return the kind of the question whether a message may be published."""
    return 1 << (2 * qos + retain)


def subscribe_kind(qos: int) -> int:
    """Return the kind of the question whether a filter may be subscribed to at this QoS."""
    return 1 << (_SUBSCRIBE_SHIFT + qos)


@dataclass(frozen=True, slots=True)
class ClientPattern:
    """A client identifier or a listener's name, in which `*` stands for any characters, and `%u`,
    of a client identifier, for its user."""

    text: str

    def matches(self, name: str, username: str | None = None) -> bool:
        """Return whether a name has this form; takes time in proportion to its length.

        With `%u` no name has it where there is no user. A `*` in a user's name is a `*`.
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
class Who:
    """Whom a rule is about: all conditions that are not None have to hold."""

    user: str | None = None
    """Exactly this proven user."""
    named: bool | None = None
    """True: any proven user; False: a client without one."""
    members: frozenset[str] | None = None
    """The users of a group."""
    group: str | None = None
    """Its name: a token may make more users members."""
    client: ClientPattern | None = None
    listener: ClientPattern | None = None

    def is_about(
        self,
        *,
        username: str | None,
        client_id: str,
        listener: str,
        groups: frozenset[str] = frozenset(),
    ) -> bool:
        """Return whether a rule is about this client.

        A listener that is not known (after a start, until the client of a stored session is back)
        is any where there is no user, so that nothing is lost that the session may have, and none
        where there is one.
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
    """One line."""

    line: int
    """Where it stands in the file, from 1."""
    text: str
    """As it is written."""
    allow: bool
    who: Who
    kinds: int
    """The questions that it decides, as bits."""
    patterns: tuple[str, ...] | None
    """Topic patterns with their placeholders; None: all topics."""

"""Recorded subscriptions, which determine the persistent sessions that must receive a message.

The field `matched` of an event also counts clean sessions and subscriptions at QoS 0, which are not
logged. It is therefore only an upper limit for the number of queue entries, and the recorded
subscriptions are needed to find missing entries. This module does not use the topic matching of the
broker's core, because the audit verifies the core.
"""

from dataclasses import dataclass, field
from typing import Final

from gateway.broker.wire.topics import is_shared_filter, matches, validate_shared_filter
from gateway.tools.audit.session_state import SessionState

TOPICS_CACHED_MAX: Final = 10_000
"""Maximum number of topics with cached receivers. A changed subscription clears the cache."""


@dataclass(slots=True)
class Receivers:
    """The sessions that receive messages published to a topic."""

    granted: dict[int, int] = field(default_factory=dict)
    """The highest QoS granted to each session, not counting shared subscriptions."""
    shared: dict[int, int] = field(default_factory=dict)
    """The number of matching shared subscriptions of which each session is a member."""


def group_of(topic_filter: str) -> tuple[str, str]:
    """Return the group name and the topic filter of a shared subscription.

    For any other topic filter, the group name is empty.
    """
    if not is_shared_filter(topic_filter) or validate_shared_filter(topic_filter) is not None:
        return "", topic_filter
    _, name, rest = topic_filter.split("/", 2)
    return name, rest


class Subscriptions:
    """All recorded subscriptions, to find the sessions that receive a message."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[int, int]] = {}
        self._cache: dict[str, Receivers] = {}

    def subscribe(self, session: SessionState, topic_filter: str, qos: int) -> None:
        """Add or replace a subscription."""
        session.subscriptions[topic_filter] = qos
        self._sessions.setdefault(topic_filter, {})[session.number] = qos
        self._cache.clear()

    def unsubscribe(self, session: SessionState, topic_filter: str) -> None:
        """Remove a subscription if it exists."""
        session.subscriptions.pop(topic_filter, None)
        members = self._sessions.get(topic_filter)
        if members is not None:
            members.pop(session.number, None)
            if not members:
                del self._sessions[topic_filter]
        self._cache.clear()

    def end(self, session: SessionState) -> None:
        """Remove all subscriptions of a session."""
        for topic_filter in list(session.subscriptions):
            self.unsubscribe(session, topic_filter)

    def receivers_of(self, topic: str) -> Receivers:
        """Return the sessions that must receive a message published to `topic`."""
        found = self._cache.get(topic)
        if found is None:
            if len(self._cache) >= TOPICS_CACHED_MAX:
                self._cache.clear()
            found = self._cache[topic] = self._find(topic)
        return found

    def _find(self, topic: str) -> Receivers:
        receivers = Receivers()
        for topic_filter, sessions in self._sessions.items():
            name, plain = group_of(topic_filter)
            if not matches(plain, topic):
                continue
            for number, qos in sessions.items():
                if name:
                    receivers.shared[number] = receivers.shared.get(number, 0) + 1
                else:
                    receivers.granted[number] = max(qos, receivers.granted.get(number, 0))
        return receivers

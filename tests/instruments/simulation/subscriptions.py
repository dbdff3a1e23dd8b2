"""What a client knows of its subscriptions: since when it may have one, since when it surely has.

Between SUBSCRIBE and SUBACK a subscription may be there; behind SUBACK it is; from UNSUBSCRIBE (or
whatever may end the session) on it may be gone; behind UNSUBACK it is. Moments are counted by the
run (`Timeline.moment`).

Through a shared subscription a message may also come long after it was published: another member
had it before.
"""

from gateway.broker.wire.topics import matches


def _group_and_filter(topic_filter: str) -> tuple[str, str]:
    """Return the name of the group, empty where nothing is shared, and what is subscribed to."""
    if not topic_filter.startswith("$share/"):
        return "", topic_filter
    _, group, shared = topic_filter.split("/", 2)
    return group, shared


class Subscribed:
    """One life of a subscription."""

    def __init__(self, topic_filter: str, qos: int, possible_from: int, *, temporary: bool) -> None:
        self.topic_filter = topic_filter
        self.group, self._matching = _group_and_filter(topic_filter)
        self.temporary = temporary
        """Its session ends with the connection, and is on no disk."""
        self.left = False
        """UNSUBSCRIBE was sent."""
        self.qos = qos
        self.possible_from = possible_from
        self.sure_from: int | None = None
        self.sure_to: int | None = None
        self.possible_to: int | None = None

    def is_open(self) -> bool:
        """Return whether it may still be there."""
        return self.possible_to is None

    def surely_covers(self, first: int, last: int) -> bool:
        """Return whether it was there all the time between two moments."""
        return (
            self.sure_from is not None
            and self.sure_from < first
            and (self.sure_to is None or last < self.sure_to)
        )

    def matches(self, topic: str) -> bool:
        """Return whether it is a subscription to a topic."""
        return matches(self._matching, topic)

    def possibly_reaches(self, topic: str, first: int, last: int | None) -> bool:
        """Return whether a topic's messages may have found it at some moment between two."""
        return (
            (last is None or self.group != "" or self.possible_from <= last)
            and (self.possible_to is None or first <= self.possible_to)
            and self.matches(topic)
        )


class Subscriptions:
    """All of one client's, over all its sessions."""

    def __init__(self) -> None:
        self.lives: list[Subscribed] = []
        self.asked: list[tuple[str, int]] = []
        """Every SUBSCRIBE that was sent: filter and when."""
        self.session_from = 0
        """What began before belongs to a session that has ended; when that was known."""

    def subscribe_sent(self, topic_filter: str, qos: int, now: int, *, temporary: bool) -> None:
        self.asked.append((topic_filter, now))
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is None:
                return
        self.lives.append(Subscribed(topic_filter, qos, now, temporary=temporary))

    def suback_received(self, topic_filter: str, now: int) -> None:
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is None:
                life.sure_from = now if life.sure_from is None else life.sure_from

    def unsubscribe_sent(self, topic_filter: str, now: int) -> None:
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter:
                life.left = True
                life.sure_to = now if life.sure_to is None else life.sure_to

    def unsuback_received(self, topic_filter: str, now: int) -> None:
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is not None:
                life.possible_to = now

    def session_in_doubt(self, now: int) -> None:
        """Something was sent that ends the session when it arrives."""
        for life in self.lives:
            if life.is_open() and life.sure_to is None:
                life.sure_to = now

    def session_gone(self, now: int) -> None:
        """The broker said that there is no session."""
        for life in self.lives:
            if life.is_open():
                life.possible_to = now
                life.sure_to = now if life.sure_to is None else life.sure_to
        self.session_from = now

    def ended_behind(self, life: Subscribed) -> bool:
        """Return whether a session may have ended that had given up this subscription before."""
        return life.left and life.sure_to is not None and life.sure_to <= self.session_from

    def has(self, topic_filter: str) -> bool:
        """Return whether a subscription is surely there."""
        return any(
            life.topic_filter == topic_filter and life.sure_from is not None
            for life in self.lives
            if life.sure_to is None
        )

    def in_doubt(self, topic_filter: str) -> bool:
        """Return whether a subscription may be there, and may not."""
        return any(
            life.is_open()
            and life.topic_filter == topic_filter
            and (life.sure_from is None or life.sure_to is not None)
            for life in self.lives
        )

    def sure_qos(self, topic: str, first: int, last: int) -> int:
        """Return the QoS this session was surely granted for a topic all the time, -1: none.

        Shared subscriptions do not count: they entitle no client alone.
        """
        return max(
            (
                life.qos
                for life in self.lives
                if life.possible_from >= self.session_from
                and not life.group
                and life.surely_covers(first, last)
                and life.matches(topic)
            ),
            default=-1,
        )

    def sure_groups(self, topic: str, first: int, last: int) -> set[str]:
        """Return the shared subscriptions to a topic that this session had all the time."""
        return {
            life.topic_filter
            for life in self.lives
            if life.group
            and life.possible_from >= self.session_from
            and life.surely_covers(first, last)
            and life.matches(topic)
        }

    def possible_qos(self, topic: str, first: int, last: int | None) -> set[int]:
        """Return every QoS that a message may have found granted between two moments."""
        return {life.qos for life in self.lives if life.possibly_reaches(topic, first, last)}

    def may_get_by_itself(self, topic: str, first: int, last: int | None) -> bool:
        """Return whether a message may have come through what is not shared."""
        return any(
            not life.group and life.possibly_reaches(topic, first, last) for life in self.lives
        )

    def possible_groups(self, topic: str, first: int) -> set[str]:
        """Return the shared subscriptions that a message may have come through."""
        return {
            life.topic_filter
            for life in self.lives
            if life.group and life.possibly_reaches(topic, first, None)
        }

    def asked_count(self, topic: str) -> int:
        """Return how many SUBSCRIBEs asked for a topic."""
        return sum(matches(topic_filter, topic) for topic_filter, _ in self.asked)

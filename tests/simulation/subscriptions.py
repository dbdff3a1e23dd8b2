"""What a client knows of its subscriptions: since when it may have one, since when it surely has.

Between SUBSCRIBE and SUBACK a subscription may be there; behind SUBACK it is; from UNSUBSCRIBE (or
whatever may end the session) on it may be gone; behind UNSUBACK it is. Moments are counted by the
run (`Timeline.moment`).
"""

from gateway.wire.topics import matches


class Subscribed:
    """One life of a subscription."""

    def __init__(self, topic_filter: str, qos: int, possible_from: int) -> None:
        self.topic_filter = topic_filter
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

    def possibly_touches(self, first: int, last: int | None) -> bool:
        """Return whether it may have been there at some moment between two."""
        return (last is None or self.possible_from <= last) and (
            self.possible_to is None or first <= self.possible_to
        )


class Subscriptions:
    """All of one client's, over all its sessions."""

    def __init__(self) -> None:
        self.lives: list[Subscribed] = []
        self.asked: list[tuple[str, int]] = []
        """Every SUBSCRIBE that was sent: filter and when."""
        self.session_from = 0
        """What began before belongs to a session that has ended."""

    def subscribe_sent(self, topic_filter: str, qos: int, now: int) -> None:
        self.asked.append((topic_filter, now))
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is None:
                return
        self.lives.append(Subscribed(topic_filter, qos, now))

    def suback_received(self, topic_filter: str, now: int) -> None:
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is None:
                life.sure_from = now if life.sure_from is None else life.sure_from

    def unsubscribe_sent(self, topic_filter: str, now: int) -> None:
        for life in self.lives:
            if life.is_open() and life.topic_filter == topic_filter and life.sure_to is None:
                life.sure_to = now

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
        """Return the QoS this session was surely granted for a topic all the time, -1: none."""
        return max(
            (
                life.qos
                for life in self.lives
                if life.possible_from >= self.session_from
                and life.surely_covers(first, last)
                and matches(life.topic_filter, topic)
            ),
            default=-1,
        )

    def possible_qos(self, topic: str, first: int, last: int | None) -> set[int]:
        """Return every QoS that a message may have found granted between two moments."""
        return {
            life.qos
            for life in self.lives
            if life.possibly_touches(first, last) and matches(life.topic_filter, topic)
        }

    def asked_count(self, topic: str) -> int:
        """Return how many SUBSCRIBEs asked for a topic."""
        return sum(matches(topic_filter, topic) for topic_filter, _ in self.asked)

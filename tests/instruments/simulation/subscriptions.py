"""A client's knowledge about its subscriptions: when one may exist, and when it certainly exists.

Between SUBSCRIBE and SUBACK a subscription may exist, and after SUBACK it does. After UNSUBSCRIBE,
or anything else that may end the session, it may be gone, and after UNSUBACK it is. Moments are
those of the run (`Timeline.moment`).

Through a shared subscription a message may also arrive long after its publication, because another
member had it before.
"""

from gateway.broker.wire.topics import matches


def _group_and_filter(topic_filter: str) -> tuple[str, str]:
    """Return the name of the group, or an empty string if not shared, and the filter."""
    if not topic_filter.startswith("$share/"):
        return "", topic_filter
    _, group, shared = topic_filter.split("/", 2)
    return group, shared


class Subscribed:
    """A subscription from its SUBSCRIBE to its end."""

    def __init__(self, topic_filter: str, qos: int, possible_from: int, *, temporary: bool) -> None:
        self.topic_filter = topic_filter
        self.group, self._matching = _group_and_filter(topic_filter)
        self.temporary = temporary
        """True if the session ends with its connection and is not on disk."""
        self.left = False
        """True after UNSUBSCRIBE was sent."""
        self.qos = qos
        self.possible_from = possible_from
        self.sure_from: int | None = None
        self.sure_to: int | None = None
        self.possible_to: int | None = None

    def is_open(self) -> bool:
        """Return True if the subscription may still exist."""
        return self.possible_to is None

    def surely_covers(self, first: int, last: int) -> bool:
        """Return True if the subscription certainly existed from `first` to `last`."""
        return (
            self.sure_from is not None
            and self.sure_from < first
            and (self.sure_to is None or last < self.sure_to)
        )

    def matches(self, topic: str) -> bool:
        """Return True if the subscription matches a topic."""
        return matches(self._matching, topic)

    def possibly_reaches(self, topic: str, first: int, last: int | None) -> bool:
        """Return True if a message on this topic may have matched between two moments."""
        return (
            (last is None or self.group != "" or self.possible_from <= last)
            and (self.possible_to is None or first <= self.possible_to)
            and self.matches(topic)
        )


class Subscriptions:
    """The subscriptions of one client across all its sessions."""

    def __init__(self) -> None:
        self.lives: list[Subscribed] = []
        self.asked: list[tuple[str, int]] = []
        """Every SUBSCRIBE that was sent: its filter and its moment."""
        self.session_from = 0
        """The moment at which the client learned that an earlier session had ended."""

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
        """Note that a packet was sent that ends the session on its arrival."""
        for life in self.lives:
            if life.is_open() and life.sure_to is None:
                life.sure_to = now

    def session_gone(self, now: int) -> None:
        """Note that the broker reported that there is no session."""
        for life in self.lives:
            if life.is_open():
                life.possible_to = now
                life.sure_to = now if life.sure_to is None else life.sure_to
        self.session_from = now

    def ended_behind(self, life: Subscribed) -> bool:
        """Return True if a session that had unsubscribed from this filter may have ended."""
        return life.left and life.sure_to is not None and life.sure_to <= self.session_from

    def has(self, topic_filter: str) -> bool:
        """Return True if a subscription certainly exists."""
        return any(
            life.topic_filter == topic_filter and life.sure_from is not None
            for life in self.lives
            if life.sure_to is None
        )

    def in_doubt(self, topic_filter: str) -> bool:
        """Return True if it is unknown whether a subscription exists."""
        return any(
            life.is_open()
            and life.topic_filter == topic_filter
            and (life.sure_from is None or life.sure_to is not None)
            for life in self.lives
        )

    def sure_qos(self, topic: str, first: int, last: int) -> int:
        """Return the QoS that this session certainly had for a topic at all times, or -1.

        Shared subscriptions do not count, because they entitle no single client to a message.
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
        """Return the shared subscriptions to a topic that this session had at all times."""
        return {
            life.topic_filter
            for life in self.lives
            if life.group
            and life.possible_from >= self.session_from
            and life.surely_covers(first, last)
            and life.matches(topic)
        }

    def possible_qos(self, topic: str, first: int, last: int | None) -> set[int]:
        """Return every QoS that may have been granted for a message between two moments."""
        return {life.qos for life in self.lives if life.possibly_reaches(topic, first, last)}

    def may_get_by_itself(self, topic: str, first: int, last: int | None) -> bool:
        """Return True if a message may have arrived through a subscription that is not shared."""
        return any(
            not life.group and life.possibly_reaches(topic, first, last) for life in self.lives
        )

    def possible_groups(self, topic: str, first: int) -> set[str]:
        """Return the shared subscriptions through which a message may have arrived."""
        return {
            life.topic_filter
            for life in self.lives
            if life.group and life.possibly_reaches(topic, first, None)
        }

    def asked_count(self, topic: str) -> int:
        """Return the number of SUBSCRIBEs that matched a topic."""
        return sum(matches(topic_filter, topic) for topic_filter, _ in self.asked)

"""The messages that a subscriber's application received, checked on arrival.

A QoS 2 message arrives once. A QoS 1 message is repeated only with DUP, or if its publisher
repeated it. First copies arrive in the order of publication, for each publisher, topic and QoS.
Retained messages for a SUBSCRIBE are counted separately. Each group of which the client is a member
may add one copy (`groups` checks all members). Messages taken over from another member may be out
of order.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gateway.broker.wire.packets import Publish
from tests.instruments.simulation.ledger import Ledger, Message, key_of
from tests.instruments.simulation.subscriptions import Subscriptions
from tests.instruments.simulation.violation import require


@dataclass(frozen=True)
class Sighting:
    """A message that reached the application."""

    moment: int
    key: bytes
    qos: int
    dup: bool


class Sightings:
    """The received messages of one client."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        subscriptions: Subscriptions,
        *,
        drops: bool,
        ended_count: Callable[[], int],
    ) -> None:
        self.name = name
        self.seen: dict[bytes, list[Sighting]] = {}
        self.retained_copies: Counter[bytes] = Counter()
        self.retained_originals: Counter[bytes] = Counter()
        """Retained messages without DUP."""
        self._ledger = ledger
        self._drops = drops
        """True if queues are so short that they may overflow."""
        self._ended_count = ended_count
        """Returns the number of ended sessions.

        Their messages go to other members of the groups.
        """
        self._subscriptions = subscriptions
        self._last: dict[tuple[str, str, int, int], Message] = {}

    def see(self, packet: Publish, now: int) -> None:
        """Check a PUBLISH that was passed to the application."""
        message = self._ledger.messages.get(key_of(packet.payload))
        require(
            message is not None
            and message.payload == packet.payload
            and message.topic == packet.topic
            and message.first_sent is not None,
            "nothing is invented",
            f"{self.name} received {packet!r}, which no client published",
        )
        assert message is not None
        require(
            packet.qos <= message.qos,
            "QoS is the lesser of both",
            f"{self.name} received {message.key!r} (QoS {message.qos}) at QoS {packet.qos}",
        )
        if packet.retain:
            self._see_retained(message, packet)
        else:
            self._see_live(message, packet, now)

    def _see_retained(self, message: Message, packet: Publish) -> None:
        self.retained_copies[message.key] += 1
        self.retained_originals[message.key] += not packet.dup
        require(
            message.retain
            and self.retained_originals[message.key]
            <= self._subscriptions.asked_count(message.topic) * message.sent_count,
            "retained messages come when asked for",
            f"{self.name} received {packet!r} retained, {self.retained_copies[message.key]} times",
        )

    def _see_live(self, message: Message, packet: Publish, now: int) -> None:
        before = self.seen.setdefault(message.key, [])
        assert message.first_sent is not None
        last = None if message.is_will else message.acknowledged
        granted = self._subscriptions.possible_qos(message.topic, message.first_sent, last)
        groups = len(self._subscriptions.possible_groups(message.topic, message.first_sent))
        sources = groups + self._subscriptions.may_get_by_itself(
            message.topic, message.first_sent, last
        )
        require(
            packet.qos in {min(qos, message.qos) for qos in granted},
            "only what was subscribed to",
            f"{self.name} received {packet!r}; it may have been granted {sorted(granted)} then",
        )
        if packet.qos == 2:
            require(
                sum(sighting.qos == 2 for sighting in before) < sources,
                "QoS 2 exactly once",
                f"{self.name} received {message.key!r} again: {packet!r}",
            )
        originals = sum(not sighting.dup for sighting in before) + (not packet.dup)
        routed_max = message.sent_count if message.qos < 2 and not message.is_will else 1
        handed_over_max = self._ended_count() if groups else 0
        require(
            originals <= routed_max * sources + handed_over_max,
            "a repeat is marked so",
            f"{self.name} received {message.key!r} without DUP {originals} times; its publisher "
            f"sent it {routed_max} times, {sources} of its subscriptions may have brought it",
        )
        lost = self._may_have_lost_a_copy(message, shared=groups > 0)
        ordered = not (message.is_will or handed_over_max or lost)
        if not before and ordered:
            self._check_order(message, packet.qos)
        before.append(Sighting(now, message.key, packet.qos, packet.dup))

    def _may_have_lost_a_copy(self, message: Message, *, shared: bool) -> bool:
        """Return True if this may be the second copy of a message that was published twice at QoS
        1.

        The first copy may have expired, been dropped in a full queue, gone to another member of a
        group, or come before this client subscribed. It determined the place in the order.
        """
        first = message.first_sent or 0
        late = self._subscriptions.sure_qos(message.topic, first, first) < 0
        may_be_gone = message.expiry_seconds is not None or self._drops or shared or late
        return message.qos == 1 and message.sent_count > 1 and may_be_gone

    def _check_order(self, message: Message, qos: int) -> None:
        line = (message.publisher, message.topic, message.qos, qos)
        last = self._last.get(line)
        require(
            last is None or last.number < message.number,
            "order for each topic and QoS",
            f"{self.name} received {message.key!r} behind {last and last.key!r}",
        )
        self._last[line] = message

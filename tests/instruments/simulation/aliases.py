"""The topic aliases of one client in both directions (5.0 section 3.3.2.3.4), per connection."""

from collections.abc import Callable

from gateway.broker.wire.packets import Publish
from tests.instruments.simulation.plan import ClientPlan
from tests.instruments.simulation.violation import require

RULE = "topic aliases belong to their connection"


class Aliases:
    """The topics of the aliases on the current connection."""

    def __init__(self, plan: ClientPlan, count: Callable[[str], None]) -> None:
        self.plan = plan
        self._count = count
        self._granted = 0
        self._to_broker: dict[str, int] = {}
        self._last = 0
        self._from_broker: dict[int, str] = {}

    def begin_connection(self) -> None:
        """Forget all aliases, because a new connection has none."""
        self._granted = 0
        self._to_broker.clear()
        self._last = 0
        self._from_broker.clear()

    def grant(self, maximum: int) -> None:
        """Set the number of aliases that the broker accepts."""
        self._granted = maximum

    def shortened(self, topic: str) -> tuple[str, int]:
        """Return the topic to send and its alias, or 0 for no alias.

        If there are more topics than aliases, an alias is reassigned to another topic.
        """
        usable = min(self.plan.aliases, self._granted)
        if not usable:
            return topic, 0
        alias = self._to_broker.get(topic, 0)
        if alias:
            self._count("topic aliases instead of a topic, to the broker")
            return "", alias
        self._last = self._last % usable + 1
        for other in [each for each, number in self._to_broker.items() if number == self._last]:
            del self._to_broker[other]
        self._to_broker[topic] = self._last
        return topic, self._last

    def resolve(self, packet: Publish) -> None:
        """Replace the alias of a received packet with its topic."""
        alias = packet.properties.topic_alias if packet.properties is not None else None
        if alias is None:
            return
        require(
            0 < alias <= self.plan.topic_alias_maximum,
            RULE,
            f"{self.plan.name} received {packet!r}, and allows {self.plan.topic_alias_maximum}",
        )
        if packet.topic:
            self._from_broker[alias] = packet.topic
            return
        self._count(f"topic aliases instead of a topic, to a client at QoS {packet.qos}")
        require(
            alias in self._from_broker,
            RULE,
            f"{self.plan.name} received {packet!r}, an alias that was not set on this connection",
        )
        packet.topic = self._from_broker[alias]

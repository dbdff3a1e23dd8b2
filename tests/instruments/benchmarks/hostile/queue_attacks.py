"""Attacks on queues, on routes, and on the rate at which one client is read."""

from itertools import cycle
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.instruments.benchmarks.hostile.packets import connect5, publish_with_alias
from tests.peers.mqtt_bytes import PINGREQ, publish, subscribe

QUEUE_LENGTH: Final = 1_000
"""`max_mqueue_len` of the broker under attack."""
BURST_PACKETS: Final = 8_000
"""More packets than `max_packet_rate` allows in ten seconds."""
SUBSCRIPTIONS: Final = 1_200
"""More than `max_subscriptions`."""

ALIASES: Final = (
    (b"a", 0),
    (b"a", 17),
    (b"a", 65_535),
    (b"", 5),
)
"""Alias 0, two aliases above `max_topic_alias`, and one that was never assigned."""


class FullQueues(Attack):
    """Queues of sessions whose clients are away."""

    name = "full queues of disconnected clients"
    sentence = (
        "1,000 QoS 1 messages per second to 5 persistent sessions whose clients are disconnected."
    )
    allowance = Allowance(connections=2, sessions=5, bounds=("queues",))
    counters = ("dropped (queue_full)",)

    async def run(self, hand: Hand) -> None:
        """Subscribe and leave, and publish to these sessions."""
        for number in range(5):
            wire = await hand.client(f"away{number}", clean=False)
            wire.send(subscribe(1, ("attack/away", 1)))
            await wire.answer()
            wire.cut()
        publisher = await hand.client("to-away")
        async for number in hand.paced(100):
            some = range(10 * number, 10 * number + 10)
            packets = (publish("attack/away", b"x", qos=1, packet_id=1 + n % 60_000) for n in some)
            publisher.send(b"".join(packets))


class RefusingCircles(Attack):
    """Clients with refusing queues that publish to each other and acknowledge nothing."""

    name = "refusing queues that fill each other"
    sentence = (
        "2 clients whose queues refuse messages when full (`[[queues]]`). Each subscribes to the "
        "topic to which the other publishes. Together they publish 1,000 QoS 1 messages per "
        "second, acknowledge none, and reconnect when the broker disconnects them."
    )
    allowance = Allowance(connections=2, slow_readers=2, sessions=2, bounds=("queues",))
    counters = ("queue_circle", "queue_refuses")

    async def run(self, hand: Hand) -> None:
        """Publish until the broker closes the connections, and reconnect."""
        wires: list[Wire] = []
        async for number in hand.paced(100, 400, whole=True):
            if len(wires) < 2 or wires[0].closed.is_set() or wires[1].closed.is_set():
                for wire in wires:
                    wire.cut()
                wires = [await self._member(hand, each) for each in range(2)]
            for each, wire in enumerate(wires):
                some = range(5 * number, 5 * number + 5)
                topic, payload = f"attack/circle/{1 - each}", bytes(2_000)
                wire.send(
                    b"".join(publish(topic, payload, qos=1, packet_id=1 + n % 60_000) for n in some)
                )

    async def _member(self, hand: Hand, number: int) -> Wire:
        wire = await hand.client(f"refuse-{number}", clean=False)
        wire.send(subscribe(60_001, (f"attack/circle/{number}", 1)))
        return wire


class PacketFlood(Attack):
    """Many small packets in one burst."""

    name = "more packets than the rate limit"
    sentence = "2 clients that each send a burst of 8,000 PINGREQ packets every 3 s."
    allowance = Allowance(connections=2, slow_readers=2)
    counters = ("max_packet_rate",)

    async def run(self, hand: Hand) -> None:
        """Send the bursts."""
        wires = [await hand.client(f"flood{each}") for each in range(2)]
        async for _ in hand.paced(1 / 3, whole=True):
            for wire in wires:
                wire.send(PINGREQ * BURST_PACKETS)


class TooManyFilters(Attack):
    """More subscriptions than a session may have."""

    name = "more subscriptions than the limit"
    sentence = (
        "5 clients that each request 1,200 wildcard filters. Together they send 40 SUBSCRIBEs of "
        "100 filters per second."
    )
    allowance = Allowance(connections=5, bounds=("subscriptions",))
    counters = ("max_subscriptions",)

    async def run(self, hand: Hand) -> None:
        """Subscribe with a hundred filters per packet."""
        wires = [await hand.client(f"filters{each}") for each in range(5)]
        async for number in hand.paced(40, 120, whole=True):
            first = 100 * (number // len(wires)) % SUBSCRIPTIONS
            filters = [(f"attack/filter/+/{first + each}/#", 1) for each in range(100)]
            wires[number % len(wires)].send(subscribe(1 + number % 60_000, *filters))


class WrongAliases(Attack):
    """Invalid topic aliases."""

    name = "invalid topic aliases"
    sentence = (
        "50 clients per second that use topic alias 0, 17 or 65,535, or an alias that was never "
        "assigned."
    )
    allowance = Allowance(connections=100)
    counters = ("topic_alias", "property_value")

    async def run(self, hand: Hand) -> None:
        """Use one alias per connection."""
        aliases = cycle(ALIASES)
        async for number in hand.paced(50):
            wire = await hand.stranger()
            if wire is not None:
                topic, alias = next(aliases)
                wire.send(connect5(f"no-alias{number % 64}") + publish_with_alias(topic, alias))

"""Attacks by connected clients, with topics, filters and retained messages."""

from itertools import islice
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.instruments.benchmarks.hostile.packets import (
    connect5,
    deep_topic,
    long_topic,
    mixed_filters,
    publish_with_alias,
)
from tests.peers.mqtt_bytes import DISCONNECT, PINGREQ, connect, publish, subscribe, unsubscribe

TOPIC_BYTES: Final = 64_000
LEVELS: Final = 128
"""The default of `max_topic_levels`."""
ALIASES: Final = 16
"""The default of `max_topic_alias`."""
FILTERS_A_PACKET: Final = 100
RETAINED_PREPARED: Final = 20_000
PREPARED_PER_WRITE: Final = 500


class AliasFlood(Attack):
    """Topic aliases of connections that then end."""

    name = "topic aliases of closed connections"
    sentence = (
        "20 clients per second, one after the other, that each assign 16 topic aliases to topics "
        "of 64 kB and disconnect."
    )
    allowance = Allowance(connections=4, bounds=("topic aliases",))

    async def run(self, hand: Hand) -> None:
        """Connect, assign all aliases, and disconnect."""
        async for number in hand.paced(20):
            wire = await hand.connected(connect5(f"alias{number}"))
            for alias in range(1, ALIASES + 1):
                topic = long_topic(number * ALIASES + alias, TOPIC_BYTES)
                wire.send(publish_with_alias(topic, alias))
            wire.send(DISCONNECT)


class LongTopics(Attack):
    """Long topics that are never used twice."""

    name = "new topics of 64 kB"
    sentence = "400 QoS 0 messages per second, each to a new topic of 64 kB."
    allowance = Allowance(connections=1)

    async def run(self, hand: Hand) -> None:
        """Publish each message to a new long topic."""
        wire = await hand.client("long-topics")
        async for number in hand.paced(400):
            wire.send(publish(long_topic(number, TOPIC_BYTES), b"x"))


class DeepRetained(Attack):
    """Retained messages whose topics are far larger in memory than in the packet."""

    name = "retained topics with 128 levels"
    sentence = "3,000 retained messages, 1,500 per second, each on its own topic of 128 levels."
    allowance = Allowance(connections=1, bounds=("retained messages",))

    async def run(self, hand: Hand) -> None:
        """Publish each retained message to a new deep topic."""
        wire = await hand.client("deep-retained")
        async for number in hand.paced(1_500, 3_000):
            wire.send(publish(deep_topic(f"d{number}", LEVELS), b"x", retain=True))
        await hand.rest()


class ShallowRetained(Attack):
    """Retained messages, prepared for attacks that subscribe to all of them."""

    name = "retained messages"
    sentence = ""

    async def prepare(self, hand: Hand) -> None:
        """Retain 20,000 messages."""
        # From loopback, because the broker reads strangers more slowly.
        wire = await hand.open()
        if wire is None:
            raise ConnectionRefusedError("the broker accepts no connection")
        wire.send(connect("retaining"))
        await wire.answer()
        for first in range(0, RETAINED_PREPARED, PREPARED_PER_WRITE):
            numbers = range(first, first + PREPARED_PER_WRITE)
            wire.send(b"".join(publish(f"kept/{each}", b"x", retain=True) for each in numbers))
            wire.send(PINGREQ)
            await wire.answer()
        wire.cut()


class RetainedFlood(ShallowRetained):
    """More retained messages than strangers may have."""

    name = "more retained messages than the limit"
    sentence = (
        "4,000 retained QoS 1 messages, 1,000 per second, while 20,000 others are already stored."
    )
    allowance = Allowance(connections=1, bounds=("retained messages",))
    counters = ("max_retained", "anonymous_retained")

    async def run(self, hand: Hand) -> None:
        """Publish more retained messages than the limit allows."""
        wire = await hand.client("retained-flood")
        async for number in hand.paced(100, 400, whole=True):
            some = range(10 * number, 10 * number + 10)
            wire.send(
                b"".join(
                    publish(f"flood/{n}", b"x", qos=1, packet_id=1 + n, retain=True) for n in some
                )
            )
        await hand.rest()


class EqualFilters(ShallowRetained):
    """One SUBSCRIBE that causes 300 walks through all retained messages."""

    name = "SUBSCRIBE with 300 equal filters"
    sentence = (
        "One SUBSCRIBE per second, each from a new session that does not read, with the same "
        "filter 300 times. The filter matches 20,000 retained messages."
    )
    allowance = Allowance(connections=8, slow_readers=8, bounds=("retained messages",))

    async def run(self, hand: Hand) -> None:
        """Subscribe without reading."""
        async for number in hand.paced(1):
            wire = await hand.client(f"equal{number}", reads=False, clean=False)
            wire.send(subscribe(1, *[("kept/#", 1)] * 300))


class ManyReplays(ShallowRetained):
    """Retained messages, requested again and again."""

    name = "repeated delivery of retained messages"
    sentence = (
        "10 clients that subscribe to 20,000 retained messages again every 100 ms, and read what "
        "they receive."
    )
    allowance = Allowance(connections=10, slow_readers=10, bounds=("retained messages",))

    async def run(self, hand: Hand) -> None:
        """Subscribe again and again."""
        wires = [await hand.client(f"replay{number}") for number in range(hand.some(10))]
        async for number in hand.paced(10):
            for wire in wires:
                wire.send(subscribe(number + 1, ("kept/#", 0)))


class MixedFilters(Attack):
    """Topics that are expensive only in combination with another client's filters."""

    name = "1,000 wildcard filters and deep topics"
    sentence = (
        "A client with 1,000 filters of 128 levels, each with a different combination of names "
        "and +. Another client publishes 10 QoS 0 messages per second to topics that differ from "
        "these filters only in the last level."
    )
    allowance = Allowance(connections=2, bounds=("subscriptions",))

    async def prepare(self, hand: Hand) -> None:
        """Subscribe with a hundred filters per packet, and stay."""
        wire = await hand.client("mixed")
        filters = mixed_filters(1_000, LEVELS)
        packet_id = 0
        while some := list(islice(filters, FILTERS_A_PACKET)):
            packet_id += 1
            wire.send(subscribe(packet_id, *((one, 0) for one in some)))
            await wire.answer()

    async def run(self, hand: Hand) -> None:
        """Publish to topics that match up to their last level."""
        wire = await hand.client("deep")
        levels = deep_topic("a", LEVELS - 1)
        async for number in hand.paced(10):
            wire.send(publish(f"{levels}/{number}", b""))


class ShareGroups(Attack):
    """Messages to a thousand shared subscriptions, each with a choice of member."""

    name = "1,000 shared subscriptions"
    sentence = (
        "A client with 1,000 shared subscriptions to one topic, each in its own group, and 50 QoS "
        "0 messages per second to this topic."
    )
    allowance = Allowance(connections=2, slow_readers=1)

    async def prepare(self, hand: Hand) -> None:
        """Subscribe to all groups, and stay."""
        wire = await hand.client("groups")
        for first in range(0, 1_000, FILTERS_A_PACKET):
            numbers = range(first, first + FILTERS_A_PACKET)
            groups = ((f"$share/g{number}/attack/shared", 0) for number in numbers)
            wire.send(subscribe(first + 1, *groups))
            await wire.answer()

    async def run(self, hand: Hand) -> None:
        """Publish to the topic of all groups."""
        wire = await hand.client("to-groups")
        async for number in hand.paced(50):
            wire.send(publish("attack/shared", b"%d" % number))


class SubscribeChurn(Attack):
    """Subscriptions that are created and removed at a high rate."""

    name = "frequent SUBSCRIBE and UNSUBSCRIBE"
    sentence = (
        "10 persistent sessions that each subscribe to 100 wildcard filters and unsubscribe "
        "again, 5 times per second."
    )
    allowance = Allowance(connections=10, bounds=("subscriptions",))

    async def run(self, hand: Hand) -> None:
        """Subscribe and unsubscribe."""
        wires = [await hand.client(f"churn{number}", clean=False) for number in range(10)]
        async for number in hand.paced(50):
            filters = [f"churn/+/{each}/#" for each in range(FILTERS_A_PACKET)]
            packet_id = number % 60_000 + 1
            wire = wires[number % len(wires)]
            wire.send(subscribe(packet_id, *((one, 1) for one in filters)))
            wire.send(unsubscribe(packet_id, *filters))


class SlowReaders(Attack):
    """Clients that subscribe to everything and read nothing."""

    name = "subscribers to # that read nothing"
    sentence = (
        "10 persistent sessions that subscribe to # at QoS 2 and read nothing, and 200 QoS 0 "
        "messages of 8 kB per second."
    )
    allowance = Allowance(connections=11, slow_readers=10)
    counters = ("dropped (slow_reader)",)

    async def run(self, hand: Hand) -> None:
        """Subscribe without reading, and publish."""
        for number in range(hand.some(10)):
            wire = await hand.client(f"slow{number}", reads=False, clean=False)
            wire.send(subscribe(1, ("#", 2)))
        publisher = await hand.client("to-slow")
        payload = bytes(8_000)
        async for _ in hand.paced(200):
            publisher.send(publish("attack/slow", payload))


class ControlCharacters(Attack):
    """Names that contain control characters for a terminal or a log."""

    name = "control characters in names"
    sentence = (
        "200 packets per second with control characters (U+0001 to U+001F, U+007F to U+009F). "
        "Three of four are retained messages with one in the topic. The others are CONNECTs with "
        "one in the client identifier and the user name."
    )
    allowance = Allowance(connections=200, bounds=("retained messages", "password checks"))
    counters = ("control_character",)

    async def run(self, hand: Hand) -> None:
        """Connect with such names, and publish to such topics."""
        characters = [*map(chr, range(1, 0x20)), *map(chr, range(0x7F, 0xA0))]
        publisher: Wire | None = None
        async for number in hand.paced(200):
            character = characters[number % len(characters)]
            if number % 4 == 0:
                name = f"control{character}{number}"
                wire = await hand.stranger()
                if wire is not None:
                    wire.send(connect(name, username=name))
                continue
            if publisher is None or publisher.closed.is_set():
                publisher = await hand.client("control-publisher")
            topic = f"control/{character}/{number}\r\n\x1b[31m"
            publisher.send(publish(topic, character.encode(), qos=1, packet_id=1, retain=True))

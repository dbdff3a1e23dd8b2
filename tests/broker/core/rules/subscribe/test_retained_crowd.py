"""A subscriber to `#` with 100,000 retained topics delays other clients by one slice at most."""

import pytest

from gateway.broker.core.rules.subscribe.retained import SLICE_MESSAGES
from gateway.broker.wire.packets import Pingreq, Pingresp, Puback, Publish, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness, publishes
from tests.broker.core.mqtt5 import NEVER, connect, subscriber


def retain_many(harness: Harness, count: int) -> None:
    publisher = harness.connect("p", clean=True)
    for number in range(count):
        topic = f"r/{number % 97}/{number}"
        publisher.send(Publish(topic, b"x", number % 2, True, False, number % 2 * 7))
        if number % 5_000 == 0:
            harness.commit()
    harness.commit()
    harness.lose(publisher)


def one_turn(harness: Harness, calm: Client) -> bool:
    """Run the event loop's work between two polls; return True if the calm client was served."""
    calm.send(Pingreq(), Publish("live", b"now", 0, False, False, 0))
    harness.now = max(harness.now, harness.broker.next_due() or 0)
    harness.broker.wake(harness.now)
    harness.seal()
    packets = calm.take()
    return Pingresp() in packets and len(publishes(packets)) == 1


@pytest.mark.parametrize(
    ("count", "qos", "expiry"),
    [(100_000, 0, 0), (20 * SLICE_MESSAGES, 0, NEVER), (20 * SLICE_MESSAGES, 1, 0)],
)
def test_between_two_slices_everybody_else_is_served(
    harness: Harness, count: int, qos: int, expiry: int
) -> None:
    retain_many(harness, count)
    calm = subscriber(harness, "calm", "live", 0)
    everything = connect(harness, "everything", expiry=expiry, clean=True)
    everything.take()
    everything.send(Subscribe(1, [Subscription("#", qos)]))
    harness.seal()
    seen = {packet.topic for packet in acknowledged(everything)}
    while len(seen) < count:
        assert one_turn(harness, calm)
        came = [packet.topic for packet in acknowledged(everything) if packet.topic != "live"]
        assert came
        assert len(came) <= SLICE_MESSAGES
        seen.update(came)


def acknowledged(client: Client) -> list[Publish]:
    packets = publishes(client.take())
    client.send(*(Puback(packet.packet_id) for packet in packets if packet.qos))
    return packets

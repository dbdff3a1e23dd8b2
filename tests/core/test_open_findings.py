"""What the broker does not do yet."""

import pytest

from gateway.wire.packets import Connack, Publish, Pubrec, Pubrel, Subscription
from tests.core.harness import Harness, payloads, publishes
from tests.core.mqtt5 import connect, publish, subscribe, subscriber


@pytest.mark.statement("MQTT-4.6.0-4", "MQTT5-4.6.0-4")
@pytest.mark.parametrize("cut", [False, True])
def test_pubrels_are_sent_again_in_the_order_of_the_pubrecs(harness: Harness, cut: bool) -> None:
    client = subscriber(harness, "c", "t", 2)
    publisher = harness.connect("p", clean=True)
    for number in (1, 2, 3):
        publisher.send(Publish("t", b"x", 2, False, False, number), Pubrel(number))
    harness.commit()
    first, second, third = (packet.packet_id for packet in publishes(client.take()))
    order = [third, first, second]
    client.send(*(Pubrec(packet_id) for packet_id in order))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in order]
    if cut:
        harness.cut()
    else:
        harness.lose(client)
    _, *again = connect(harness, "c").take()
    assert again == [Pubrel(packet_id) for packet_id in order]


@pytest.mark.parametrize("cut", [False, True])
def test_a_session_whose_client_is_away_is_not_given_to_another_user(
    harness: Harness, cut: bool
) -> None:
    harness.broker.connecting.authenticates = True
    alice = connect(harness, "c")
    alice.connection.username = "alice"
    subscribe(harness, alice, Subscription("t", 1))
    harness.lose(alice)
    publish(harness, connect(harness, "p"), "t", b"for alice alone")
    if cut:
        harness.cut()
        harness.broker.connecting.authenticates = True
    bob = connect(harness, "c")  # authenticated, by another name
    packets = bob.take()
    assert payloads(packets) == []
    assert packets == [Connack(False, 0x87)]

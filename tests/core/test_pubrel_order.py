"""PUBRELs keep the order of the PUBRECs (section 4.6), also when they are sent again."""

import pytest

from gateway.wire.packets import Publish, Pubrec, Pubrel
from tests.core.harness import Harness, publishes
from tests.core.mqtt5 import connect, subscriber


@pytest.mark.statement("MQTT-4.6.0-4", "MQTT5-4.6.0-4")
@pytest.mark.parametrize("cut", ["no", "journal", "tables"])
def test_pubrels_are_sent_again_in_the_order_of_the_pubrecs(harness: Harness, cut: str) -> None:
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
    if cut == "tables":
        harness.checkpoint()
    if cut != "no":
        harness.cut()
    else:
        harness.lose(client)
    _, *again = connect(harness, "c").take()
    assert again == [Pubrel(packet_id) for packet_id in order]

"""Subscribers on the harness that acknowledge until no more messages arrive."""

from gateway.broker.wire.packets import (
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from tests.broker.core.harness import Client, Harness, publishes


def drain(harness: Harness, client: Client) -> list[Publish]:
    """Acknowledge one message at a time; return the messages in the order of arrival."""
    seen: list[Publish] = []
    waiting = publishes(client.take())
    while waiting:
        packet = waiting.pop(0)
        seen.append(packet)
        client.send(Puback(packet.packet_id))
        harness.commit()
        waiting += publishes(client.take())
    return seen


def answer_all(harness: Harness, client: Client) -> list[bytes]:
    """Acknowledge until no more messages arrive; return the payloads in the order of arrival."""
    seen: list[bytes] = []
    while packets := client.take():
        for packet in packets:
            if isinstance(packet, Publish):
                seen.append(packet.payload)
                if packet.qos == 1:
                    client.send(Puback(packet.packet_id))
                elif packet.qos == 2:
                    client.send(Pubrec(packet.packet_id))
            elif isinstance(packet, Pubrel):
                client.send(Pubcomp(packet.packet_id))
        harness.commit()
    return seen

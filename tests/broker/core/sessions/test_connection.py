"""A closed connection releases the memory that it used."""

import tracemalloc

import pytest

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import connect, properties

CONNECTIONS = 30
TOPIC_BYTES = 60_000
KEPT_BYTES_MAX = 3_000_000
"""Memory in use after all connections are closed, at most.

16 routes with topics of 60 kB, and the objects of the closed connections. The aliases alone would
be 28 MB, the incomplete packets 30 MB.
"""


def alias_all(client: Client) -> None:
    """Assign every topic alias to a long topic, then send half a packet."""
    for alias in range(1, client.harness.limits.max_topic_alias + 1):
        topic = f"{alias:02}" + "x" * (TOPIC_BYTES - 2)
        client.send(Publish(topic, b"", 0, False, False, 0, properties(topic_alias=alias)))
    whole = encode(Publish("t", b"x" * 2_000_000, 1, False, False, 1), 5)
    client.send_bytes(whole[:1_000_000])


@pytest.mark.parametrize("end", ["lost", "wrong", "taken over"])
def test_aliases_and_parts_of_packets_go_when_the_connection_is_closed(
    harness: Harness, traced: None, end: str
) -> None:
    before, _ = tracemalloc.get_traced_memory()
    for number in range(CONNECTIONS):
        name = "one" if end == "taken over" else str(number)
        client = connect(harness, name, expiry=0, keep_alive_seconds=60)
        alias_all(client)
        if end == "lost":
            harness.lose(client)
        elif end == "wrong":
            client.send_bytes(b"x" * 1_100_000)
    if end == "taken over":
        connect(harness, "one", expiry=0)
    harness.commit()
    after, _ = tracemalloc.get_traced_memory()
    # The harness refers to all connections, as a socket does that is slow to close.
    assert len(harness.clients) >= CONNECTIONS
    assert after - before < KEPT_BYTES_MAX

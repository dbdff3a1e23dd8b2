"""Sends packets as the event loop does: one slice of work after another."""

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Packet
from tests.broker.core.harness import Client

ONE_STEP_UNITS = 1_100
"""Work units of the largest indivisible step.

Such a step is one message to all clients of a test, one filter, or one step of a walk.
"""


def slices_of(client: Client, *packets: Packet, seal: bool = False) -> list[int]:
    """Send packets to the broker as the event loop does; return the cost of each slice in units."""
    harness, connection = client.harness, client.connection
    broker = harness.broker
    work = broker.work
    work.spent = 0
    broker.receive(
        connection, b"".join(encode(packet, client.version) for packet in packets), harness.now
    )
    spent = [work.spent]
    while connection.has_more_work:
        if seal:
            harness.seal()
        broker.continue_connection(connection, harness.now)
        spent.append(work.spent)
    return spent

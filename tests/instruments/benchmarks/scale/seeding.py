"""Creates a data directory with many sessions and queued messages, in a separate process.

It uses the core and the store without sockets: `python -m ... DIRECTORY SESSIONS QUEUED EXPIRY`,
with `QUEUED` messages per session. With an expiry in seconds, the sessions belong to MQTT 5.0
clients. The directory is left as a power cut leaves it.
"""

import sys
import time
from pathlib import Path

from gateway.broker.core.changes import Changes
from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import Connect, Properties, Publish, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness

BATCH_SESSIONS = 1_000
PAYLOAD = bytes(64)


def seed(directory: Path, sessions: int, queued: int, expiry_seconds: int) -> None:
    """Fill a directory with sessions and messages."""
    limits = Limits()
    limits.max_sessions = sessions + 10
    limits.max_connections = sessions + 10
    harness = Harness(directory, limits)
    harness.time_ms = time.time_ns() // 1_000_000
    for first in range(0, sessions, BATCH_SESSIONS):
        clients = [
            _opened(harness, number, expiry_seconds)
            for number in range(first, min(first + BATCH_SESSIONS, sessions))
        ]
        harness.seal()
        for client in clients:
            harness.lose(client)
        harness.clients.clear()
        harness.seal()
    publisher = harness.connect("publisher", clean=True)
    for number in range(sessions):
        for _ in range(queued):
            publisher.send(Publish(f"device/{number}/in", PAYLOAD, 1, False, False, 1))
        if number % 500 == 0:
            harness.seal()
            if harness.store.wants_checkpoint(Changes(), 1e9, 0.0):
                harness.checkpoint()
    harness.lose(publisher)
    harness.commit()
    harness.close()


def _opened(harness: Harness, number: int, expiry_seconds: int) -> Client:
    version = 5 if expiry_seconds else 4
    client = harness.open_connection(version)
    properties = Properties() if expiry_seconds else None
    if properties is not None:
        properties.session_expiry_interval_seconds = expiry_seconds
    name = f"device-{number}"
    client.send(Connect(version, name, False, 0, None, None, None, properties))
    client.send(Subscribe(1, [Subscription(f"device/{number}/in", 1)]))
    return client


if __name__ == "__main__":
    seed(Path(sys.argv[1]), *map(int, sys.argv[2:5]))

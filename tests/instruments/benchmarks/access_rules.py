"""The cost of access rules: `Broker.receive` of PUBLISH packets with and without rules.

    python -m tests.instruments.benchmarks.access_rules

1,000 users publish one after the other, without sockets. Each user has an access rule, and one
subscriber receives everything. With `own topic`, each user repeats a topic, as sensors do. With
`one topic`, all users share a topic. With `new topics`, each message has a topic that was never
used before, so no cached decision applies.

The two brokers are measured alternately, in processor seconds, and the fastest rounds are compared:
other programs on the machine only make a round slower.
"""

import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.rules.file import parse
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connect, Publish, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness

USERS = 1_000
ROUNDS = 30
RULES = "".join(
    f"allow user u{number} publish,subscribe own/u{number}/#\n" for number in range(USERS - 2)
) + ("allow anonymous all #\nallow user * publish shared/# own/%u/#\n")
CONTESTS = {
    "QoS 0, own topic": (0, "own/u{}/temperature"),
    "QoS 0, one topic": (0, "shared/temperature"),
    "QoS 1, own topic": (1, "own/u{}/temperature"),
    "QoS 1, one topic": (1, "shared/temperature"),
    "QoS 0, new topics": (0, "own/u{}/new/{}"),
}
FRESH = itertools.count()


def main() -> None:
    """Print microseconds per message, and the relative speed with rules."""
    with brokers() as (open_broker, ruled):
        for name, (qos, topic) in CONTESTS.items():
            without, with_rules = [], []
            for _ in range(ROUNDS):
                without.append(microseconds_of(*open_broker, qos, topic))
                with_rules.append(microseconds_of(*ruled, qos, topic))
            before, after = min(without), min(with_rules)
            print(f"{name}: {before:.2f} us without rules, {after:.2f} with, {before / after:.3f}")


@contextmanager
def brokers() -> Iterator[list[tuple[Harness, list[Client]]]]:
    """Yield two brokers with 1,000 users each. The second one has 1,000 rules."""
    with tempfile.TemporaryDirectory() as directory:
        made = [populated(Path(directory) / name) for name in ("open", "ruled")]
        made[1][0].broker.restrict(FileRules(parse(RULES.encode(), "rules")))
        yield made
        for harness, _ in made:
            harness.close()


def populated(directory: Path) -> tuple[Harness, list[Client]]:
    """Return a broker with a subscriber to everything, and its publishers."""
    harness = Harness(directory)
    harness.limits.max_connections = USERS + 10
    watch = harness.connect("watch", clean=True)
    watch.send(Subscribe(1, [Subscription("#", 0)]))
    harness.broker.authenticate(True, [])
    publishers = []
    for number in range(USERS):
        client = harness.open_connection()
        client.send(Connect(4, f"c{number}", True, 0, None, f"u{number}", b"x"))
        for request in harness.broker.effects.take_logins():
            answer = AuthenticationAnswer(0, None, request.username)
            harness.broker.authenticated(request.connection, answer, harness.now)
        publishers.append(client)
    harness.commit()
    return harness, publishers


def microseconds_of(harness: Harness, publishers: list[Client], qos: int, topic: str) -> float:
    """Publish once per publisher. Return the microseconds in `Broker.receive` per message."""
    broker, now = harness.broker, harness.now
    packets = [
        (
            client.connection,
            encode(Publish(topic.format(each, next(FRESH)), b"21.5", qos, False, False, qos), 4),
        )
        for each, client in enumerate(publishers)
    ]
    began = time.thread_time()
    for connection, packet in packets:
        broker.work.spent = 0
        broker.receive(connection, packet, now)
    spent = time.thread_time() - began
    harness.commit()
    for client in harness.clients.values():
        client.take()
    return spent / len(packets) * 1e6


if __name__ == "__main__":
    main()

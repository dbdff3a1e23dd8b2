"""Pages of queued messages are limited in bytes; every message is delivered in order."""

from contextlib import closing
from pathlib import Path

from gateway.broker.core.limits import Limits
from gateway.broker.store.database import DATABASE_NAME, connect, create_tables
from gateway.broker.store.pages import CONTENTS_PER_QUERY, PAGE_BYTES_MAX, load_contents
from gateway.broker.wire.packets import Puback, Publish
from tests.broker.core.harness import Harness, publishes

PAYLOAD_BYTES = 300 * 1024


def test_large_messages_come_back_from_disk_a_few_at_a_time_and_in_order(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 1
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    sent = [b"%02d" % number + bytes(PAYLOAD_BYTES) for number in range(20)]
    for number, payload in enumerate(sent):
        publisher.send(Publish("t", payload, 1, False, False, number + 1))
    harness.commit()
    harness.checkpoint()
    client = harness.connect("s")
    session = harness.session("s")
    assert 0 < len(session.waiting) * PAYLOAD_BYTES <= PAGE_BYTES_MAX + PAYLOAD_BYTES
    received = []
    while taken := publishes(client.take()):
        received += [packet.payload for packet in taken]
        assert len(session.waiting) * PAYLOAD_BYTES <= PAGE_BYTES_MAX + PAYLOAD_BYTES
        client.send(*(Puback(packet.packet_id) for packet in taken))
        harness.commit()
    assert received == sent
    assert session.queued_count == 0
    assert session.queued_bytes == 0
    harness.close()


def test_contents_are_loaded_by_number_in_more_than_one_query(tmp_path: Path) -> None:
    numbers = range(1, 2 * CONTENTS_PER_QUERY + 10)
    with closing(connect(tmp_path / DATABASE_NAME)) as connection:
        create_tables(connection)
        connection.executemany(
            "INSERT INTO messages (number, topic, payload, flags) VALUES (?, 't', ?, 1)",
            [(number, b"%d" % number) for number in numbers if number % 7],
        )
        loaded = load_contents(connection, list(numbers))
    assert {number: message.payload for number, message in loaded.items()} == {
        number: b"%d" % number for number in numbers if number % 7
    }

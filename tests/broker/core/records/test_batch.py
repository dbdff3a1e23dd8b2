"""A batch of records: its parts, its size before it is sealed, and its numbers."""

from gateway.broker.core.records.blob import Blob, joined
from gateway.broker.wire.packets import Connect, Publish, Subscribe, Subscription
from tests.broker.core.harness import Harness


def begin(harness: Harness) -> None:
    """Record changes that are not sealed in a batch yet."""
    client = harness.open_connection()
    client.send(Connect(4, "c", False, 0, None, None, None), Subscribe(1, [Subscription("t", 1)]))


def test_the_parts_of_a_batch_are_together_what_it_is_sealed_as(harness: Harness) -> None:
    harness.commit()
    broker = harness.broker
    begin(harness)
    parts = [broker.take_part(harness.now, harness.time_ms, harness.clock)]
    client = harness.open_connection()
    client.send(Connect(4, "p", True, 0, None, None, None), Publish("t", b"x", 1, True, False, 1))
    parts.append(broker.take_part(harness.now, harness.time_ms, harness.clock))
    sealed = broker.seal(harness.now, harness.time_ms, harness.clock)
    blobs = [Blob(part) for part in parts]
    assert blobs[1].first_sequence == blobs[0].last_sequence + 1
    assert joined(blobs) == sealed.blob


def test_a_name_stands_in_the_first_part_that_needs_it_and_in_no_other(harness: Harness) -> None:
    harness.commit()
    begin(harness)
    first = Blob(harness.broker.take_part(harness.now, harness.time_ms, harness.clock))
    (client,) = harness.clients.values()
    client.send(Subscribe(2, [Subscription("u", 1)]))
    second = Blob(harness.broker.take_part(harness.now, harness.time_ms, harness.clock))
    assert list(first.names.values()) == ["c"]
    assert second.record_count == 1
    assert second.names == {}


def test_the_size_of_a_blob_is_known_before_it_is_sealed(harness: Harness) -> None:
    harness.commit()
    begin(harness)
    expected = harness.broker.batch.blob_bytes()
    blob = harness.broker.seal(harness.now, harness.time_ms, harness.clock).blob
    assert blob is not None
    assert len(blob) == expected


def test_a_batch_without_records_has_a_number_and_no_blob(harness: Harness) -> None:
    harness.commit()
    batch = harness.broker.batch
    number, sequence = batch.batch_number, batch.next_sequence
    sealed = harness.broker.seal(harness.now, harness.time_ms, harness.clock)
    assert (sealed.number, sealed.blob) == (number, None)
    assert (batch.batch_number, batch.next_sequence) == (number + 1, sequence)

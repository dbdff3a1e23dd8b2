"""Changes that a checkpoint has to write: the net change since the last checkpoint."""

from gateway.broker.wire.packets import Publish, Pubrel
from tests.broker.core.draining import answer_all
from tests.broker.core.harness import Harness, send_many


def test_what_lived_and_died_between_two_checkpoints_never_becomes_a_row(
    harness: Harness,
) -> None:
    subscriber = harness.subscriber("s", "t", 2)
    harness.checkpoint()
    before = harness.store._files.writer.total_changes
    send_many(harness, harness.connect("p"), 50, qos=2)
    assert len(answer_all(harness, subscriber)) == 50
    rows = harness.store._files.writer.total_changes - before - len(harness.blobs)
    assert rows <= 0
    harness.checkpoint()
    assert harness.rows() == {"inbound": 0, "outbound": 0, "queue": 0, "messages": 0}


def test_what_was_received_and_released_between_two_checkpoints_counts_for_nothing(
    harness: Harness,
) -> None:
    client = harness.connect("c")
    harness.checkpoint()
    client.send(Publish("t", b"x", 2, False, False, 1))
    harness.commit()
    changes = harness.broker.state.changes
    assert len(changes.held) == 1
    assert changes.count() >= 1
    client.send(Pubrel(1))
    harness.commit()
    assert (len(changes.held), len(changes.released)) == (0, 0)

"""Checkpoints are due often enough that a start replays a limited number of bytes."""

from pathlib import Path

from gateway.broker.store.checkpointing import CHECKPOINT_BYTES, REPLAY_BYTES_MAX
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness

LARGE_BYTES = 500_000


def publish_in_a_short_life(harness: Harness, size_bytes: int, life: int) -> None:
    """Publish retained messages of this size, and cut the power before a checkpoint."""
    publisher = harness.connect("p")
    for number in range(size_bytes // LARGE_BYTES + 1):
        payload = bytes([life]) * LARGE_BYTES
        publisher.send(Publish(f"t/{number}", payload, 1, True, False, 1))
        harness.commit()
    harness.cut()


def test_what_a_start_replays_counts_towards_the_next_checkpoint(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    for life in range(3):
        publish_in_a_short_life(harness, CHECKPOINT_BYTES // 3, life)
    assert harness.store.wants_checkpoint(harness.broker.state.changes, 5.0, harness.now)
    harness.checkpoint()
    harness.cut()
    assert harness.recovered.replayed_bytes < LARGE_BYTES
    assert not harness.store.wants_checkpoint(harness.broker.state.changes, 5.0, harness.now)


def test_lives_too_short_for_a_checkpoint_do_not_make_the_replay_longer_and_longer(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path)
    replayed = []
    for life in range(6):
        publish_in_a_short_life(harness, REPLAY_BYTES_MAX // 3, life)
        replayed.append(harness.recovered.replayed_bytes)
    # The third start wrote a checkpoint of what it had replayed; the fourth replayed one life.
    assert replayed[2] >= REPLAY_BYTES_MAX
    assert replayed[3] < replayed[2] / 2
    assert max(replayed) < 2 * REPLAY_BYTES_MAX
    retained = harness.broker.state.retained.values()
    assert {message.payload for message in retained} == {bytes([5]) * LARGE_BYTES}

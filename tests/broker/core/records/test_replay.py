"""Replaying recorded facts rebuilds the state that they were recorded from."""

from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.state import State
from gateway.broker.wire.packets import Publish, Will
from tests.broker.core.harness import Harness

Picture = dict[str, object]


def replayed(blobs: list[bytes]) -> Replay:
    replay = Replay(State([]), 0.0, lambda number: None)
    for blob in blobs:
        replay.apply(Blob(blob))
    return replay


def picture(state: State) -> Picture:
    """Return the parts of the state that a few clients can change, as comparable values."""
    return {
        "sessions": {
            name: (
                session.number,
                sorted(session.subscriptions),
                sorted(session.inbound),
                [(each.packet_id, each.message_number) for each in session.outbound.values()],
                session.queued_count,
            )
            for name, session in state.sessions.items()
        },
        "retained": {topic: message.payload for topic, message in state.retained.items()},
        "wills": sorted(session.client_id for session in state.wills.values()),
        "next message": state.next_message_number,
    }


def lead_a_life(harness: Harness) -> None:
    reader = harness.subscriber("reader", "#", 2)
    harness.lose(harness.subscriber("away", "t/+", 1))
    writer = harness.connect("writer", will=Will("w", b"gone", 1, True))
    writer.send(Publish("t/1", b"1", 1, True, False, 1), Publish("t/2", b"2", 2, False, False, 2))
    harness.commit()
    assert reader.take()


def test_replaying_every_blob_leads_to_the_state_of_the_broker(harness: Harness) -> None:
    lead_a_life(harness)
    replay = replayed(harness.blobs)
    assert picture(replay.state) == picture(harness.broker.state)
    assert replay.next_sequence == harness.broker.batch.next_sequence
    assert replay.next_batch == Blob(harness.blobs[-1]).number + 1


def test_a_blob_whose_facts_are_there_already_changes_nothing(harness: Harness) -> None:
    lead_a_life(harness)
    replay = replayed(harness.blobs)
    expected = picture(replay.state)
    replay.apply(Blob(harness.blobs[-1]))
    assert picture(replay.state) == expected


def test_facts_of_a_session_that_the_tables_do_not_have_any_more_are_passed_over(
    harness: Harness,
) -> None:
    lead_a_life(harness)
    earlier = len(harness.blobs)
    harness.connect("p", clean=True).send(Publish("t/1", b"3", 1, True, False, 1))
    harness.commit()
    replay = replayed(harness.blobs[earlier:])
    assert list(replay.state.sessions) == ["p"]
    assert picture(replay.state)["retained"] == {"t/1": b"3"}


def test_a_clean_session_is_gone_when_the_replay_is_finished(harness: Harness) -> None:
    harness.connect("clean", clean=True)
    harness.connect("kept")
    replay = replayed(harness.blobs)
    replay.finish()
    assert list(replay.state.sessions) == ["kept"]


def test_a_noted_blob_moves_the_numbers_on_and_applies_nothing(harness: Harness) -> None:
    lead_a_life(harness)
    replay = Replay(State([]), 0.0, lambda number: None)
    replay.note(Blob(harness.blobs[-1]))
    assert replay.next_sequence == harness.broker.batch.next_sequence
    assert replay.state.sessions == {}
    assert replay.facts_applied == 0

"""Lost messages of a session without an opening record, derived from later records."""

from gateway.broker.core.records.kinds import DropReason, EndReason, RecordKind
from gateway.broker.core.records.lost import LostMessages
from gateway.broker.core.records.record import Dropped, Ended, Exchange, QueueRecord


def placed(kind: RecordKind, position: int, packet_id: int = 0) -> QueueRecord:
    return QueueRecord(kind, 7, packet_id, position + 100, 1, 0, position)


def test_what_waits_and_what_is_in_flight_is_lost_and_what_was_completed_is_not() -> None:
    lost = LostMessages()
    for position in range(10):
        lost.note(placed(RecordKind.MESSAGE_QUEUED, position), "away")
    for position in range(3):
        lost.note(placed(RecordKind.DELIVERY_STARTED, position, position + 1), "away")
    lost.note(Exchange(RecordKind.DELIVERY_COMPLETED, 7, 1, 100), "away")
    lost.note(Dropped(7, 103, DropReason.EXPIRED, 3), "away")
    assert lost.sessions[7].client_id == "away"
    assert lost.sessions[7].queued_count() == 8


def test_a_session_that_ended_afterwards_has_lost_nothing() -> None:
    lost = LostMessages()
    lost.note(placed(RecordKind.MESSAGE_QUEUED, 0), "away")
    lost.note(Ended(RecordKind.SESSION_ENDED, 7, EndReason.EXPIRED), "away")
    assert lost.sessions == {}

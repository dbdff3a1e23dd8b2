from tests.audit_checks.events import (
    begin,
    delivered,
    ended,
    event,
    held,
    life,
    one_batch,
    opened,
    queued,
    released,
    started,
    subscribed,
)
from tests.tools.audit.logs import checked, exceptions_of

SHARED = "$share/group/t/#"


def test_an_entry_that_a_session_leaves_must_come_in_the_batch_in_which_it_ends() -> None:
    members = [opened(1), opened(2), subscribed(2, SHARED), opened(3), subscribed(3, SHARED)]
    waits = [*members, held(1), released(1), queued(1, 0)]
    same = checked(*waits, *one_batch(queued(1, 0, 3), ended(2)))
    later = checked(*waits, queued(1, 0, 3), ended(2))
    for check in (same, later):
        check.finish(is_complete=True)
    assert exceptions_of(same) == []
    (found,) = exceptions_of(later)
    assert (found.check, found.message, found.session) == ("fan_out", 1, 3)


def test_a_retained_message_reaches_new_subscribers_until_it_is_replaced() -> None:
    retained = {"event": "retained_set", "topic": "t/1", "message": 1}
    late = [opened(3), started(1, 0, session=3)]
    cleared = [{"event": "retained_cleared", "topic": "t/1"}, event("broker_stopped")]
    sent = begin(held(1), released(1), retained, *delivered(1, 0))
    for between, count in (([], 0), (cleared, 1)):
        check = checked(*sent, *between, *late)
        check.finish(is_complete=True)
        assert len(exceptions_of(check)) == count
        assert check.context.counts.late_entries == 1


def test_the_last_release_of_a_log_that_continues_elsewhere_is_inconclusive() -> None:
    for is_complete, verdict in ((True, "violation"), (False, "inconclusive")):
        check = checked(*begin(*life(1, 0), held(2), released(2)))
        check.finish(is_complete=is_complete)
        (found,) = exceptions_of(check)
        assert (found.verdict, found.check, found.message) == (verdict, "fan_out", 2)

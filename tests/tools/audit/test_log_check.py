from tests.audit_checks.events import begin, completed, held, life, opened, queued, released
from tests.tools.audit.logs import checked, exceptions_of


def test_an_event_that_breaks_the_format_is_inconclusive_and_a_break_of_the_log() -> None:
    broken = {key: value for key, value in held(2).items() if key != "packet_id"}
    check = checked(*begin(*life(1, 0), broken, completed(1)))
    unreadable, completed_twice = exceptions_of(check)
    assert (unreadable.verdict, unreadable.check, unreadable.sequences) == (
        "inconclusive",
        "log",
        (9,),
    )
    assert "`packet_id` of message_held is None" in unreadable.detail
    assert completed_twice.verdict == "inconclusive"
    assert not check.context.is_whole


def test_clean_sessions_end_with_the_process() -> None:
    check = checked(opened(1, clean=True), opened(2), {"event": "broker_started"})
    assert list(check.context.sessions) == [2]


def test_what_is_open_is_in_doubt_where_it_may_have_ended_unseen() -> None:
    check = checked(*begin(held(1), released(1), queued(1, 0), held(2)))
    check.break_here()
    checked(held(3, 3), check=check)
    check.report_unknown_outcomes("events are missing", include_all=False)
    assert {(one.check, one.message) for one in exceptions_of(check)} >= {
        ("released_once", 2),
        ("delivery", 1),
    }
    assert 3 not in {one.message for one in exceptions_of(check)}
    check.report_unknown_outcomes("another database", include_all=True)
    assert 3 in {one.message for one in exceptions_of(check)}

from gateway.tools.audit.context import Context
from gateway.tools.audit.findings import Findings
from tests.audit_checks.events import started


def context() -> Context:
    return Context(Findings("test"), "gw", "store")


def test_what_contradicts_something_older_than_the_latest_break_is_inconclusive() -> None:
    here = context()
    here.epoch, here.sequence = 1, 9
    here.report("delivery", "twice", epoch=1, since=4)
    here.report("delivery", "twice", epoch=0, since=9)
    firm, doubtful = here.findings.exceptions
    assert (firm.verdict, firm.detail, firm.sequences) == ("violation", "twice", (4, 9))
    assert (doubtful.verdict, doubtful.sequences) == ("inconclusive", (9,))
    assert doubtful.detail == "twice; the log is not whole here, so this proves nothing"


def test_a_session_that_was_never_opened_is_an_exception_once_and_only_in_a_whole_log() -> None:
    whole, broken = context(), context()
    broken.epoch = 1
    for here in (whole, broken):
        first = here.session_of(started(1, 0, session=7))
        assert here.session_of(started(2, 1, session=7)) is first
        assert first.next_position is None
    (found,) = whole.findings.exceptions
    assert (found.check, found.session) == ("session", 7)
    assert found.detail == "delivery_started for a session that was never opened"
    assert broken.findings.exceptions == []

"""A log of one database, judged event by event, for the tests of single modules."""

from gateway.tools.audit.findings import Findings, LawException
from gateway.tools.audit.log_check import LogCheck
from tests.laws.events import Event


def checked(*events: Event, check: LogCheck | None = None) -> LogCheck:
    """Take these events, 10 ms apart where they have no time, and go on from an earlier check."""
    check = check or LogCheck(Findings("test"), "gw", "store")
    first = check.next_sequence
    timed = [{"time": 10 * (first + n), **event} for n, event in enumerate(events)]
    check.take(timed, first, "segment")
    return check


def exceptions_of(check: LogCheck) -> list[LawException]:
    """Everything found so far."""
    return check.context.findings.exceptions

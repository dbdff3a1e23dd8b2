"""A check of one database's log, event by event, for the tests of single modules."""

from gateway.tools.audit.findings import Finding, Findings
from gateway.tools.audit.log_check import LogCheck
from tests.audit_checks.events import Event


def checked(*events: Event, check: LogCheck | None = None) -> LogCheck:
    """Check these events, continuing after an earlier check if there is one.

    Events without a time are 10 ms apart.
    """
    check = check or LogCheck(Findings("test"), "gw", "store")
    first = check.next_sequence
    timed = [{"time": 10 * (first + n), **event} for n, event in enumerate(events)]
    check.take(timed, first, "segment")
    return check


def exceptions_of(check: LogCheck) -> list[Finding]:
    """Return all exceptions that the check has found so far."""
    return check.context.findings.exceptions

import pytest

from gateway.tools.audit import findings as module
from gateway.tools.audit.findings import Finding, Findings


def exception(verdict: module.FindingVerdict = "violation", check: str = "log") -> Finding:
    return Finding(verdict, check, "gw", "store", "what happened")


def test_the_verdict_is_the_worst_and_a_log_without_events_proves_nothing() -> None:
    findings = Findings("source")
    verdicts = [findings.verdict]
    findings.counts.events = 1
    verdicts.append(findings.verdict)
    findings.add(exception("inconclusive"))
    verdicts.append(findings.verdict)
    findings.add(exception("violation"))
    verdicts.append(findings.verdict)
    assert verdicts == ["inconclusive", "ok", "inconclusive", "violation"]


def test_beyond_a_number_exceptions_are_counted_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXCEPTIONS_MAX", 3)
    findings = Findings("source")
    for _ in range(5):
        findings.add(exception())
    findings.add(exception("inconclusive", "delivery"))
    assert len(findings.exceptions) == 3
    assert findings.by_check == {("log", "violation"): 5, ("delivery", "inconclusive"): 1}
    shown = findings.as_json()
    assert (shown["violations"], shown["inconclusive"]) == (5, 1)
    assert shown["exceptions_not_shown"] == 3

"""Every case in the table of checks, run on the device; and segments that are refused."""

from collections import Counter
from pathlib import Path

import pytest

from gateway.tools.audit.findings import CHECKS, Findings
from gateway.tools.audit.run import Audit
from tests.audit_checks.cases import CASES, Case
from tests.audit_checks.events import begin, life
from tests.contract.segments import TIME_MS, sealed


def audit_of(directory: Path) -> Findings:
    return Audit(directory, lambda _events, _what: None).folder(directory)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.gateway)
def test_a_case_has_its_verdict_and_one_exception_for_each_of_its_checks(
    case: Case, tmp_path: Path
) -> None:
    case.land(tmp_path)
    findings = audit_of(tmp_path)
    found = Counter((one.verdict, one.check) for one in findings.exceptions)
    assert (findings.verdict, found) == (case.verdict, case.exceptions), findings.exceptions


def test_the_cases_fail_every_check_but_that_of_the_database() -> None:
    assert set().union(*(case.checks for case in CASES)) == set(CHECKS) - {"state"}


def test_an_exception_names_message_session_sequences_and_segment(tmp_path: Path) -> None:
    case = next(one for one in CASES if one.name == "identifier used twice")
    case.land(tmp_path)
    (found,) = audit_of(tmp_path).exceptions
    assert (found.message, found.session, found.client_id) == (2, 2, "client-2")
    assert found.sequences == (6, 9)
    assert found.segment == case.segments()[0].name


def test_what_is_open_at_the_end_is_counted_and_no_exception(tmp_path: Path) -> None:
    for case in CASES[4:6]:
        case.land(tmp_path)
    counts = audit_of(tmp_path).counts
    assert (counts.held_open, counts.queued_open, counts.in_flight_open) == (1, 1, 1)


def test_a_damaged_segment_is_not_used_and_what_it_held_is_in_doubt(tmp_path: Path) -> None:
    case = Case("damaged", [begin(*life(1, 0)), life(2, 1), life(3, 2)])
    case.land(tmp_path)
    path = sorted(tmp_path.iterdir())[1]
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    findings = audit_of(tmp_path)
    assert findings.verdict == "inconclusive"
    assert {one.check for one in findings.exceptions} == {"log"}
    assert findings.exceptions[0].segment == path.name


def test_a_replaced_segment_breaks_the_chain(tmp_path: Path) -> None:
    case = Case("replaced", [begin(*life(1, 0)), life(2, 1), life(3, 2)])
    first, second, third = case.segments()
    lines = [{**event, "sequence": 9 + n, "time": TIME_MS} for n, event in enumerate(life(2, 1))]
    replaced = sealed(
        lines, first_sequence=9, gateway="replaced", store=case.store, segment=2,
        previous_sha256=first.sha256,
    )  # fmt: skip
    assert replaced.name != second.name
    for segment in (first, replaced, third):
        segment.write_to(tmp_path)
    findings = audit_of(tmp_path)
    assert findings.verdict == "inconclusive"
    assert third.name in {one.segment for one in findings.exceptions}


def test_a_folder_without_segments_proves_nothing(tmp_path: Path) -> None:
    assert audit_of(tmp_path).verdict == "inconclusive"


def test_a_renamed_segment_is_named(tmp_path: Path) -> None:
    CASES[0].land(tmp_path)
    (path,) = tmp_path.iterdir()
    path.rename(tmp_path / "copy.jsonl.zst")
    (found,) = audit_of(tmp_path).exceptions
    assert (found.check, found.segment) == ("log", "copy.jsonl.zst")

"""Every story of the table, told in segments to `gateway.audit`."""

from pathlib import Path

import pytest

from gateway.audit.findings import LAWS, Findings
from gateway.audit.run import Audit
from tests.audit.stories import STORIES, Story, begin, life
from tests.contract.segments import TIME_MS, sealed


def audit_of(directory: Path) -> Findings:
    return Audit(directory, lambda _events, _what: None).folder(directory)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.gateway)
def test_a_story_has_its_verdict_and_names_its_laws(story: Story, tmp_path: Path) -> None:
    story.land(tmp_path)
    findings = audit_of(tmp_path)
    assert (findings.verdict, {one.law for one in findings.exceptions}) == (
        story.verdict,
        set(story.laws),
    ), findings.exceptions


def test_the_stories_break_every_law_but_that_of_the_database() -> None:
    assert set().union(*(story.laws for story in STORIES)) == set(LAWS) - {"state"}


def test_an_exception_names_message_session_sequences_and_segment(tmp_path: Path) -> None:
    story = next(one for one in STORIES if one.name == "identifier used twice")
    story.land(tmp_path)
    (found,) = audit_of(tmp_path).exceptions
    assert (found.message, found.session, found.client_id) == (2, 2, "client-2")
    assert found.sequences == (6, 9)
    assert found.segment == story.segments()[0].name


def test_what_is_open_at_the_end_is_counted_and_no_exception(tmp_path: Path) -> None:
    for story in STORIES[4:6]:
        story.land(tmp_path)
    counts = audit_of(tmp_path).counts
    assert (counts.held_open, counts.queued_open, counts.in_flight_open) == (1, 1, 1)


def test_a_damaged_segment_is_not_believed_and_what_it_held_is_in_doubt(tmp_path: Path) -> None:
    story = Story("damaged", [begin(*life(1, 0)), life(2, 1), life(3, 2)])
    story.land(tmp_path)
    path = sorted(tmp_path.iterdir())[1]
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    findings = audit_of(tmp_path)
    assert findings.verdict == "inconclusive"
    assert {one.law for one in findings.exceptions} == {"log"}
    assert findings.exceptions[0].segment == path.name


def test_a_replaced_segment_breaks_the_chain(tmp_path: Path) -> None:
    story = Story("replaced", [begin(*life(1, 0)), life(2, 1), life(3, 2)])
    first, second, third = story.segments()
    lines = [{**event, "sequence": 9 + n, "time": TIME_MS} for n, event in enumerate(life(2, 1))]
    replaced = sealed(
        lines, first_sequence=9, gateway="replaced", store=story.store, segment=2,
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
    STORIES[0].land(tmp_path)
    (path,) = tmp_path.iterdir()
    path.rename(tmp_path / "copy.jsonl.zst")
    (found,) = audit_of(tmp_path).exceptions
    assert (found.law, found.segment) == ("log", "copy.jsonl.zst")

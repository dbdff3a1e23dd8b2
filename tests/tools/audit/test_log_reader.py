from gateway.tools.audit.findings import Findings
from gateway.tools.audit.log_reader import EventRange, LogReader
from tests.audit_checks.events import Event, begin, completed, held, life, opened


def walk() -> LogReader:
    return LogReader(Findings("test"), "gw")


def event_range(
    first_sequence: int, *events: Event, boot: str = "boot", store: str = "store"
) -> EventRange:
    timed = [{"time": first_sequence + n, **event} for n, event in enumerate(events)]
    return EventRange("gw", store, boot, first_sequence, timed, f"from-{first_sequence}")


def details(here: LogReader) -> list[str]:
    return [one.detail for one in here.findings.exceptions if one.check == "log"]


def test_events_that_were_seen_are_passed_over() -> None:
    here, events = walk(), [*begin(*life(1, 0)), *life(2, 1)]
    here.take(event_range(1, *events[:9]))
    here.take(event_range(4, *events[3:]))
    assert here.findings.counts.events == len(events)
    assert here.findings.exceptions == []
    assert here.has_seen("store", "boot", 5)
    assert not here.has_seen("store", "boot", 99)
    assert not here.has_seen("store", "another boot", 5)


def test_missing_events_are_named_by_their_sequences() -> None:
    here = walk()
    here.take(event_range(1, *begin(*life(1, 0))))
    here.take(event_range(20, opened(4)))
    (found,) = here.findings.exceptions
    assert (found.check, found.sequences, found.segment) == ("log", (9, 19), "from-20")


def test_a_start_that_counts_lower_again_is_a_database_that_lost_its_end() -> None:
    here = walk()
    here.take(event_range(1, *begin(*life(1, 0))))
    here.take(event_range(7, completed(1), boot="next"))
    assert "lost its end" in details(here)[0]
    assert all(one.verdict == "inconclusive" for one in here.findings.exceptions)


def test_a_new_database_begins_a_log_and_leaves_what_was_open_in_doubt() -> None:
    here = walk()
    here.take(event_range(1, *begin(held(1))))
    here.take(event_range(1, *begin(*life(1, 0)), boot="next", store="other"))
    (found,) = here.findings.exceptions
    assert (found.check, found.message, found.store) == ("released_once", 1, "store")
    assert "replaced by another one" in found.detail
    check = here.end()
    assert check is not None
    assert check.context.store == "other"


def test_a_damaged_segment_at_the_end_is_a_break_too() -> None:
    here = walk()
    here.take(event_range(1, *begin(held(1))))
    here.damaged("segment-2", "its checksum is wrong")
    check = here.end()
    assert check is not None
    assert not check.context.is_whole
    assert details(here) == ["its checksum is wrong; nothing in it was used: look for a good copy"]

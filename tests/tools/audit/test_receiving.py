import pytest

from gateway.tools.audit.receiving import number_in
from tests.audit_checks.events import begin, delivered, event, held, life, released
from tests.tools.audit.logs import checked, exceptions_of


@pytest.mark.parametrize("value", [None, "1", True, 1.0, -1])
def test_a_field_that_is_no_number_is_refused_with_its_event(value: object) -> None:
    with pytest.raises(ValueError, match="`message` of message_held is"):
        number_in({"event": "message_held", "message": value}, "message")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([released(1)], "it was never held"),
        ([*life(1, 0), released(1, matched=0)], "it was released or abandoned before"),
        ([held(1), released(2)], "message 1 is held under it"),
    ],
)
def test_a_release_that_was_not_due_names_what_its_identifier_holds(
    events: list[dict[str, object]], why: str
) -> None:
    found = [one for one in exceptions_of(checked(*begin(*events))) if one.check == "released_once"]
    assert [one.detail.rpartition(", but ")[2] for one in found] == [why]


def test_what_came_in_is_counted_by_how_it_went_on() -> None:
    abandoned = event("message_abandoned", 1, packet_id=2, message=2)
    check = checked(*begin(held(1), held(2, 2), abandoned, released(1), *delivered(1, 0), held(3)))
    check.finish(is_complete=True)
    counts = check.context.counts
    assert (counts.held, counts.released, counts.abandoned, counts.held_open) == (3, 1, 1, 1)
    assert exceptions_of(check) == []

"""One line as an event: checked against the contract's fields, and complete."""

from __future__ import annotations

import json

import pytest

from cloud_jobs.ingest.event_line import (
    BadLineError,
    check_event,
    columns_of_event,
    object_of_line,
)

EVENT = {"sequence": 1, "time": 1, "event": "message_released", "message": 5, "matched": 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"{", "not_json"), (b"\xff", "not_utf8"), (b"[]", "not_an_object"), (b"NaN", "not_json")],
)
def test_a_line_that_is_no_json_object_is_refused_with_its_reason(line: bytes, reason: str) -> None:
    with pytest.raises(BadLineError) as refusal:
        object_of_line(line)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("field", "value"),
    [("sequence", "1"), ("time", -1), ("event", None), ("message", "5"), ("matched", 2**63)],
)
def test_a_field_of_another_type_than_the_contract_has_is_named(field: str, value: object) -> None:
    check_event(EVENT)
    with pytest.raises(BadLineError, match=f"`{field}`"):
        check_event(EVENT | {field: value})


def test_an_event_of_a_later_version_may_have_other_types() -> None:
    check_event(EVENT | {"event": "a_later_event", "message": "five"})


def test_unknown_fields_and_unknown_events_are_kept_as_they_are() -> None:
    later = EVENT | {"event": "later", "topic": 7, "spread": [1, None], "client_id": "c"}
    columns, extra = columns_of_event(later)
    assert json.loads(extra or "") == {"topic": 7, "spread": [1, None]}
    assert columns["client_id"] == "c"
    columns, extra = columns_of_event(EVENT | {"why": {"a": 1.5}})
    assert json.loads(extra or "") == {"why": {"a": 1.5}}
    assert columns_of_event(EVENT) == (EVENT, None)

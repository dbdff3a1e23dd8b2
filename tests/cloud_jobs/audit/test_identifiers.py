"""The checks of packet identifiers: which events an exception names."""

from __future__ import annotations

from typing import Any


def test_an_exception_names_message_session_sequences_and_segment(audit: dict[str, Any]) -> None:
    (one,) = [one for one in audit["exceptions"] if one["gateway"] == "identifier-used-twice"]
    assert (one["message"], one["session"], one["client_id"]) == (2, 2, "client-2")
    assert one["sequences"] == [6, 9]
    assert one["segment"].startswith("identifier-used-twice.")


def test_a_release_that_was_not_due_names_what_was_before_it(audit: dict[str, Any]) -> None:
    (one,) = [one for one in audit["exceptions"] if one["gateway"] == "released-after-abandoned"]
    assert one["sequences"] == [5, 6]
    assert "before it was free by message 1" in one["detail"]

"""The check `delivery` on queues: which events an exception names."""

from __future__ import annotations

from typing import Any


def test_a_message_that_was_passed_over_names_its_entry_and_the_start_behind_it(
    audit: dict[str, Any],
) -> None:
    (one,) = [one for one in audit["exceptions"] if one["gateway"] == "lost-from-its-queue"]
    assert (one["message"], one["session"]) == (1, 2)
    assert one["sequences"] == [6, 10]


def test_a_position_that_is_not_due_names_the_one_that_is(audit: dict[str, Any]) -> None:
    (one,) = [one for one in audit["exceptions"] if one["gateway"] == "position-never-used"]
    assert one["detail"] == "position 5 of the queue, message 1 comes where 0 is due"

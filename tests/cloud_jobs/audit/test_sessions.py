"""The check `session`: which events an exception names."""

from __future__ import annotations

from typing import Any


def test_a_delivery_to_an_ended_session_names_the_end(audit: dict[str, Any]) -> None:
    gateway = "delivered-to-an-ended-session"
    (one,) = [one for one in audit["exceptions"] if one["gateway"] == gateway]
    assert one["sequences"] == [7, 8]
    assert one["detail"] == "delivery_started for a session that has ended"

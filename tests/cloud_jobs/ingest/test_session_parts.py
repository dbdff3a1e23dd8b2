"""Events of any part of a batch become a row a session, by the latest of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.session_parts import COUNTS, PARTS, USED, parts_of
from cloud_jobs.limits import SESSION_EVENTS_MAX
from cloud_jobs.tables.event_fields import KNOWN_EVENTS
from cloud_jobs.tables.schemas import EVENTS

_EVENTS = to_arrow_schema(EVENTS, timezone="UTC")


def event(sequence: int, kind: str, session: int | None = 1, **values: Any) -> dict[str, Any]:
    of_file = {"gateway": "gw-1", "store": "s", "time": at(sequence)}
    return {**of_file, "sequence": sequence, "event": kind, "session": session, **values}


def at(sequence: int) -> datetime:
    return datetime.fromtimestamp(1_763_715_138 + sequence, UTC)


def parts(*events: dict[str, Any]) -> list[dict[str, Any]]:
    schema = pa.schema([_EVENTS.field(name) for name in USED])
    found = parts_of(pa.RecordBatch.from_pylist(list(events), schema))
    assert found.schema == to_arrow_schema(PARTS, timezone="UTC")
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def test_a_session_has_its_counts_and_its_latest_connect_close_and_end() -> None:
    (row,) = parts(
        event(1, "session_opened", client_id="a", clean=True, protocol=4, address="x"),
        event(3, "session_resumed", client_id="b", clean=False, protocol=5, address="y"),
        event(2, "session_closed", client_id="b", reason="network"),
        event(4, "session_closed", client_id="b", reason="kicked"),
        event(5, "session_ended", client_id=None, reason="expired"),
        event(6, "message_held", None),
    )
    assert (row["opened"], row["connected"], row["closed"], row["ended"]) == (
        at(1), at(3), at(4), at(5),
    )  # fmt: skip
    assert (row["close_reason"], row["end_reason"]) == ("kicked", "expired")
    assert (row["clean"], row["protocol"], row["address"]) == (False, 5, "y")
    assert (row["connect_sequence"], row["close_sequence"], row["end_sequence"]) == (3, 4, 5)
    assert (row["first_sequence"], row["last_sequence"], row["events"]) == (1, 5, 5)
    assert (row["connects"], row["disconnects"], row["client_id"]) == (2, 2, None)


def test_sessions_are_rows_of_their_own_and_unknown_kinds_are_events_of_them() -> None:
    rows = parts(event(1, "message_held"), event(2, "odd", 2), event(3, "message_held"))
    assert [(row["session"], row["events"], row["messages_held"]) for row in rows] == [
        (1, 2, 2),
        (2, 1, 0),
    ]
    assert all(row["opened"] is None and row["connect_sequence"] is None for row in rows)
    assert parts() == []


def test_each_count_is_of_known_events() -> None:
    assert {event for events in COUNTS.values() for event in events} < KNOWN_EVENTS


def test_of_many_events_a_session_has_several_rows() -> None:
    rows = parts(*(event(n, "message_held") for n in range(SESSION_EVENTS_MAX + 1)))
    assert [(row["first_sequence"], row["last_sequence"], row["events"]) for row in rows] == [
        (0, SESSION_EVENTS_MAX - 1, SESSION_EVENTS_MAX),
        (SESSION_EVENTS_MAX, SESSION_EVENTS_MAX, 1),
    ]

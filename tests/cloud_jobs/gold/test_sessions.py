"""Each session is one row with the state after its latest event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from cloud_jobs.gold.sessions import COUNTS, sessions_of
from cloud_jobs.tables.event_fields import KNOWN_EVENTS
from cloud_jobs.tables.schemas import EVENTS
from tests.cloud_jobs.conftest import Place

_TIMED = StructType([*EVENTS.fields, StructField("time_quality", StringType())])


def test_a_session_is_one_row_however_many_batches_its_events_are_in(golden: Place) -> None:
    (session,) = golden.rows("sessions", "gateway = 'session'")
    assert (session.connects, session.disconnects, session.events) == (2, 2, 11)
    assert (session.messages_held, session.messages_released) == (3, 3)
    assert (session.close_reason, session.end_reason) == ("kicked", "expired")
    assert (session.state, session.address, session.clean) == ("ended", "[::1]:9", False)
    assert (session.first_sequence, session.last_sequence) == (1, 11)
    assert session.opened < session.connected < session.closed < session.ended


def test_sessions_are_connected_away_or_ended(golden: Place) -> None:
    rows = golden.rows("sessions", "gateway = 'gw-golden'")
    assert {row.client_id: row.state for row in rows} == {
        "oncegate-bridge": "away",
        "page": "ended",
        "naïve 客户": "ended",
        "phone": "away",
    }


def at(sequence: int) -> datetime:
    return datetime.fromtimestamp(1_763_715_138 + sequence, UTC)


def event(sequence: int, kind: str, session: int | None = 1, **values: Any) -> dict[str, Any]:
    of_file = {"gateway": "gw-1", "store": "s", "time": at(sequence), "batch": 3}
    return of_file | {"sequence": sequence, "event": kind, "session": session, **values}


def rows_of(spark: SparkSession, *events: dict[str, Any]) -> list[dict[str, Any]]:
    complete = [{name: one.get(name) for name in _TIMED.fieldNames()} for one in events]
    found = sessions_of(spark.createDataFrame(complete, _TIMED)).toArrow().to_pylist()
    return sorted(found, key=lambda row: row["session"])


def test_a_session_has_its_counts_and_its_latest_connect_close_and_end(
    spark: SparkSession,
) -> None:
    row, other = rows_of(
        spark,
        event(1, "session_opened", client_id="a", clean=True, protocol=4, address="x"),
        event(3, "session_resumed", client_id="b", clean=False, protocol=5, address="y"),
        event(2, "session_closed", client_id="b", reason="network"),
        event(4, "session_closed", client_id="b", reason="kicked"),
        event(5, "session_ended", client_id=None, reason="expired"),
        event(6, "message_held", None),
        event(7, "odd", 2),
    )
    assert (row["opened"], row["connected"], row["closed"], row["ended"]) == (
        at(1), at(3), at(4), at(5),
    )  # fmt: skip
    assert (row["close_reason"], row["end_reason"]) == ("kicked", "expired")
    assert (row["clean"], row["protocol"], row["address"]) == (False, 5, "y")
    assert (row["connect_sequence"], row["close_sequence"], row["end_sequence"]) == (3, 4, 5)
    assert (row["first_sequence"], row["last_sequence"], row["events"]) == (1, 5, 5)
    assert (row["connects"], row["disconnects"], row["client_id"]) == (2, 2, None)
    assert (other["session"], other["events"], other["messages_held"]) == (2, 1, 0)
    assert (other["opened"], other["connect_sequence"]) == (None, None)


def test_each_count_is_of_known_events() -> None:
    assert {event for events in COUNTS.values() for event in events} < KNOWN_EVENTS

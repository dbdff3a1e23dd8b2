"""Each session is one row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.session_parts import COUNTS, LATEST, PARTS
from cloud_jobs.ingest.sessions import combined, together
from cloud_jobs.tables.schemas import SESSIONS
from tests.cloud_jobs.conftest import Ingested


def test_a_session_is_one_row_however_many_batches_its_events_are_in(ingested: Ingested) -> None:
    (session,) = ingested.place.rows("sessions", "gateway = 'session'")
    assert (session.connects, session.disconnects, session.events) == (2, 2, 11)
    assert (session.messages_held, session.messages_released) == (3, 3)
    assert (session.close_reason, session.end_reason) == ("kicked", "expired")
    assert (session.state, session.address, session.clean) == ("ended", "[::1]:9", False)
    assert (session.first_sequence, session.last_sequence) == (1, 11)
    assert session.opened < session.connected < session.closed < session.ended


_ARROW = to_arrow_schema(PARTS, timezone="UTC")
_MOMENTS = st.none() | st.integers(0, 9).map(lambda n: datetime.fromtimestamp(n, UTC))
_TEXTS = st.none() | st.sampled_from(["a", "b"])
_VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.timestamp("us", "UTC"): _MOMENTS,
    pa.string(): _TEXTS,
    pa.int64(): st.none() | st.integers(0, 5),
    pa.bool_(): st.none() | st.booleans(),
}


@st.composite
def parts_of_sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of PARTS: sequences of one session differ, as those of events do."""
    sequences = draw(st.permutations(range(100)))
    rows = []
    for number in range(draw(st.integers(1, 6))):
        mine = iter(sequences[10 * number : 10 * number + 10])
        row: dict[str, Any] = {
            "gateway": draw(st.sampled_from(["gw-1", "gw-2"])), "store": "s",
            "session": draw(st.integers(1, 2)), "client_id": draw(_TEXTS),
            "first_sequence": next(mine), "last_sequence": next(mine), "opened": draw(_MOMENTS),
            "events": draw(st.integers(1, 5)),
        }  # fmt: skip
        row |= {name: draw(st.integers(0, 3)) for name in COUNTS}
        for sequence, names in LATEST.items():
            row[sequence] = next(mine) if draw(st.booleans()) else None
            for name in names:
                value = draw(_VALUES[_ARROW.field(name).type])
                row[name] = value if row[sequence] is not None else None
        rows.append(row)
    return rows


def test_parts_are_put_together_the_same_way_with_spark_and_without(spark: SparkSession) -> None:
    examples: list[dict[str, Any]] = []

    @settings(max_examples=60, database=None, derandomize=True)
    @given(parts_of_sessions())
    def collect(rows: list[dict[str, Any]]) -> None:
        # One query for all examples: each is of stores of its own.
        examples.extend(row | {"store": f"s{len(examples)}"} for row in [rows[0]])
        store = examples[-1]["store"]
        examples.extend(row | {"store": store} for row in rows[1:])

    collect()
    parts = pa.Table.from_pylist(examples, _ARROW)
    expected = combined(spark.createDataFrame(parts, PARTS), 7).toArrow().to_pylist()
    found = together(parts, 7)
    assert found.schema == to_arrow_schema(SESSIONS, timezone="UTC")
    assert sorted(found.to_pylist(), key=repr) == sorted(expected, key=repr)
    assert len(expected) > 60
    assert together(parts.slice(0, 0), 7).num_rows == 0

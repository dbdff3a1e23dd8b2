"""What an earlier version staged line by line becomes what is staged today."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cloud_jobs.ingest.earlier_staging import converted
from cloud_jobs.ingest.segment_file import verify
from cloud_jobs.ingest.staging import ARROW_STAGED, judging
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import STAGED
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.ingest.test_segment_file import many_bad_lines
from tests.cloud_jobs.ingest.test_staging import events_of
from tests.cloud_jobs.staged_files import staged_rows
from tests.contract.segments import LogWriter, opened, readings

EARLIER = pa.struct(
    [
        ("line", pa.int64()),
        ("sequence", pa.int64()),
        *((name, pa.string()) for name in ("body", "extra", "reason", "detail", "raw")),
    ]
)


def test_lines_become_the_columns_and_the_malformed_lines_of_their_file() -> None:
    segment = many_bad_lines(150)
    (present,) = staged_rows(segment)
    (expected,) = present.to_pylist()
    lines = [
        {"line": one.number}
        | {name: getattr(one, name) for name in EARLIER.names if name != "line"}
        for one in verify(segment.name, segment.content, len(segment.content)).lines
    ]
    row = expected | {"malformed": None, "events": None, "began": None, "earlier": lines}
    schema = ARROW_STAGED.append(pa.field("earlier", pa.list_(EARLIER)))
    (batch,) = converted(iter([pa.RecordBatch.from_pylist([row], schema)]))
    (found,) = batch.to_pylist()
    by_line = {one["line"]: one for one in expected["malformed"]}
    assert {one["line"]: one for one in found["malformed"]} == by_line
    assert found["began"] == expected["began"]
    assert list(events_of([batch])) == list(events_of([present]))


@pytest.mark.long
def test_a_batch_that_was_staged_before_files_had_outlines_is_finished(place: Place) -> None:
    made = LogWriter().seal([opened(), *readings(2)])
    path = made.write_to(place.landing)
    tables = Tables(place.spark, place.settings.tables)
    tables.create()
    contents = place.spark.createDataFrame([(f"file:{path}", len(made.content), made.content)])
    now = contents.mapInArrow(judging(""), STAGED)
    earlier = now.drop("sessions", "records", "outline")
    earlier.write.format("delta").save(tables.path("_staging/00000001"))
    report = place.run()
    assert (report.batches, report.events_new, report.readings_new) == (1, 5, 2)
    (session,) = place.rows("sessions")
    assert (session.events, session.connects, session.state) == (5, 1, "connected")

"""Arrow streams are decoded into the same rows that were encoded, with all columns."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cloud_jobs.ingest.unpacking import EVENT_PARTS, unpacking, unpacking_events
from cloud_jobs.tables.schemas import EVENTS, RECORDS
from tests.cloud_jobs.staged_files import staged_rows
from tests.contract.segments import numbered, opened, readings, sealed

SEGMENTS = [
    sealed(numbered([opened(), *readings(2)], 1), first_sequence=1),
    sealed(numbered(readings(3), 20), first_sequence=20, segment=2),
]


def test_each_file_is_a_batch_of_events_with_the_columns_of_the_table() -> None:
    files = pa.Table.from_batches(staged_rows(*SEGMENTS)).combine_chunks()
    chosen = files.select([*EVENT_PARTS, "events"]).to_batches()
    one, two = unpacking_events(9)(iter(chosen))
    assert one.schema == two.schema == to_arrow_schema(EVENTS, timezone="UTC")
    assert (one.num_rows, two.num_rows) == (5, 6)
    assert {*one.column("segment_name").to_pylist()} == {SEGMENTS[0].name}
    assert {*two.column("batch").to_pylist()} == {9}


def test_only_the_given_columns_are_unpacked() -> None:
    files = staged_rows(SEGMENTS[0])[0].select([*EVENT_PARTS, "events"])
    columns = StructType([EVENTS[name] for name in ("gateway", "sequence", "time", "qos", "port")])
    (found,) = unpacking_events(9, columns)(iter([files]))
    assert found.schema.names == columns.fieldNames()
    assert found.column("sequence").to_pylist() == [1, 2, 3, 4, 5]
    assert found.column("port").null_count == 5


def test_columns_that_were_null_in_every_row_are_there_again() -> None:
    files = [batch.select(["records"]) for batch in staged_rows(*SEGMENTS)]
    found = list(unpacking(RECORDS)(iter(files)))
    assert [batch.num_rows for batch in found] == [2, 3]
    for batch in found:
        assert batch.schema == to_arrow_schema(RECORDS, timezone="UTC")
        assert batch.column("senml_vs").null_count == batch.num_rows

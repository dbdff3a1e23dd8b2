"""A batch that an earlier version staged and did not finish: a row a line, its fields as JSON."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest.segment_columns import columns_of_lines
from cloud_jobs.ingest.segment_file import Line
from cloud_jobs.ingest.staging import ARROW_STAGED, Batches, events_part, malformed_part
from cloud_jobs.tables.schemas import STAGED

_LINE: Final = ("line", "sequence", "body", "extra", "reason", "detail", "raw")


def in_the_present_layout(found: DataFrame) -> DataFrame:
    """Return the rows of STAGED for a staging table of an earlier version.

    None of these has worked out what a file comes to: its events are read from the table again.
    """
    if "events" in found.columns:
        later = [field for field in STAGED if field.name not in found.columns]
        return found.withColumns(
            {field.name: F.lit(None).cast(field.dataType) for field in later}
        ).select(*STAGED.fieldNames())
    present = [name for name in STAGED.fieldNames() if name in found.columns]
    files = found.where("line IS NULL").select(*present)
    missing = [field for field in STAGED if field.name not in found.columns]
    rest = {field.name: F.lit(None).cast(field.dataType) for field in missing}
    columns: dict[str, Column] = {**rest}
    columns["folder"] = F.coalesce("folder", F.lit("")) if "folder" in present else F.lit("")
    grouped = found.where("line IS NOT NULL").groupBy("path")
    lines = grouped.agg(F.sort_array(F.collect_list(F.struct(*_LINE))).alias("earlier"))
    whole = files.withColumns(columns).join(lines, "path", "left")
    return whole.select(*STAGED.fieldNames(), "earlier").mapInArrow(converted, STAGED)


def converted(batches: Batches) -> Batches:
    """Turn files with a list of their lines, `earlier`, into rows of STAGED, one a batch."""
    for batch in batches:
        for row in batch.to_pylist():
            yield pa.RecordBatch.from_pylist([_with_columns(row)], ARROW_STAGED)


def _with_columns(row: dict[str, Any]) -> dict[str, Any]:
    lines = [
        Line(
            one["line"], one["sequence"], one["body"], one["extra"], one["reason"], one["detail"],
            one["raw"],
        )
        for one in row.pop("earlier") or []
    ]  # fmt: skip
    row["malformed"] = malformed_part([line for line in lines if line.reason is not None])
    return row | events_part(columns_of_lines([line for line in lines if line.reason is None]))

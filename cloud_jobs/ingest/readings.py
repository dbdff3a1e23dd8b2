"""Deduplication of readings, so that each reading is stored only once in `sensor_readings`.

docs/formats/readings.md defines when two readings are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.outline import Outline
from cloud_jobs.ingest.reading_columns import reading_columns
from cloud_jobs.ingest.split import Split
from cloud_jobs.limits import BOARDS_COMPARED_MAX, GATEWAYS_NAMED_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import READINGS
from cloud_jobs.tables.sql import quoted_text

Numbers: TypeAlias = Mapping[str, Any]
"""Counts of a gateway's records, and ranges of their numbers."""


Board = tuple[str, str, int, int, int]
"""Gateway, device, start number, and the lowest and highest sequence of a board."""


@dataclass(frozen=True, slots=True)
class Found:
    """Counts and key ranges of a batch's SenML records."""

    good: int
    wrong: int
    """Number of records that represent a refused payload."""
    near: str
    """SQL condition that is true for every stored reading that a record may repeat. It lets Delta
    skip files with other numbers."""
    boards: Sequence[Board] = ()
    """Boards of unambiguous gateways, with the range of their numbers in the batch."""
    by_message: int = 0
    """Number of records in `good` without a board's number."""


def found_of(split: Split, ambiguous: DataFrame | None) -> Found:
    """Return the counts and key ranges of the SenML records of a batch.

    Args:
        split: result of the split, with outlines (summaries) of gateways without duplicates.
        ambiguous: records of gateways that may have duplicates. Spark counts them.
    """
    rows = [*_ranges_of(split), *(_counted(ambiguous) if ambiguous is not None else ())]
    good, wrong = sum(row["good"] for row in rows), sum(row["wrong"] for row in rows)
    near = _near([row for row in rows if row["good"]])
    by_message = sum(row["by_message"] for row in rows)
    return Found(good, wrong, near, _boards_of(split), by_message)


def _boards_of(split: Split) -> list[Board]:
    ends: dict[tuple[str, str, int], tuple[int, int]] = {}
    for gateway, outline in split.outlines:
        for run in outline.boards:
            key = (gateway, run.device, run.boot)
            least, greatest = ends.get(key, (run.least, run.greatest))
            ends[key] = min(least, run.least), max(greatest, run.greatest)
    return [(*key, *run) for key, run in ends.items()]


def any_stored(tables: Tables, found: Found, batch: int) -> bool:
    """Return True if an earlier batch may have stored a reading of this batch.

    Each board's frame numbers are compared only with stored numbers of the same board, because the
    boards of a gateway use similar numbers. If there are more than `BOARDS_COMPARED_MAX` boards, or
    readings without a board's number, only the number ranges of whole gateways are compared. The
    result can then be True although no reading is stored. Repeats within the batch itself are not
    detected.
    """
    if found.by_message or len(found.boards) > BOARDS_COMPARED_MAX:
        rows = tables.query(
            f"SELECT batch FROM {{sensor_readings}} WHERE ({found.near}) "
            "AND batch <> :batch LIMIT 1",
            batch=batch,
        )
        return bool(rows)
    rows = tables.query(
        "SELECT stored.batch AS batch FROM ("
        "SELECT gateway, device, device_boot, device_sequence, batch FROM {sensor_readings} "
        f"WHERE ({found.near}) AND batch <> :batch) AS stored "
        "JOIN (VALUES :boards) AS board (gateway, device, boot, least, greatest) "
        "ON stored.gateway = board.gateway AND stored.device = board.device "
        "AND stored.device_boot = board.boot "
        "AND stored.device_sequence >= board.least "
        "AND stored.device_sequence <= board.greatest LIMIT 1",
        boards=found.boards, batch=batch,
    )  # fmt: skip
    return bool(rows)


def _ranges_of(split: Split) -> Iterator[Numbers]:
    """Yield the counts of records and the ranges of frame and message numbers for each gateway.

    The values come from the outlines (summaries) of unambiguous gateways. `_counted` returns the
    same values for ambiguous gateways, by querying their records.
    """
    outlines: dict[str, list[Outline]] = {}
    for gateway, outline in split.outlines:
        outlines.setdefault(gateway, []).append(outline)
    for gateway, found in outlines.items():
        boards = [run for one in found for run in one.boards]
        messages = [number for one in found for run in one.messages for number in run]
        boots = [run.boot for run in boards]
        sequences = [number for run in boards for number in (run.least, run.greatest)]
        row: dict[str, Any] = {
            "gateway": gateway,
            "good": sum(one.good for one in found),
            "wrong": sum(one.wrong for one in found),
            "by_message": sum(one.by_message for one in found),
        }
        of = {"senml_boot": boots, "senml_sequence": sequences, "message": messages}
        for name, numbers in of.items():
            row[f"least_{name}"] = min(numbers, default=None)
            row[f"greatest_{name}"] = max(numbers, default=None)
        yield row


def _counted(records: DataFrame) -> list[Numbers]:
    """Query the counts of records and the ranges of frame and message numbers for each gateway."""
    numbers = ("senml_boot", "senml_sequence", "message")
    is_good = F.col("wrong").isNull()
    rows = (
        records.groupBy("gateway")
        .agg(
            F.count_if(is_good).alias("good"),
            F.count_if(~is_good).alias("wrong"),
            F.count_if(is_good & ~_is_numbered()).alias("by_message"),
            *(F.min(name).alias(f"least_{name}") for name in numbers),
            *(F.max(name).alias(f"greatest_{name}") for name in numbers),
        )
        .collect()
    )
    return [row.asDict() for row in rows]


def _near(rows: list[Numbers]) -> str:
    names = sorted({row["gateway"] for row in rows})
    # Names of gateways contain only letters, digits, - and _: other segments are not trusted.
    if len(names) > GATEWAYS_NAMED_MAX:
        return _ranges(_combined(rows))
    # One range for all gateways: a data file has rows of many gateways. A range for each gateway
    # would hardly skip more files, but Spark would plan longer.
    listed = ", ".join(map(quoted_text, names)) or "NULL"
    return f"gateway IN ({listed}) AND ({_ranges(_combined(rows))})"


def _combined(rows: list[Numbers]) -> Numbers:
    """Combine the rows of all gateways into one, with the widest ranges and the sums of counts."""
    found: dict[str, Any] = {
        name: sum(row[name] for row in rows) for name in ("good", "by_message")
    }
    for name in ("senml_boot", "senml_sequence", "message"):
        for which, end in (("least", min), ("greatest", max)):
            ends = (row[f"{which}_{name}"] for row in rows)
            found[f"{which}_{name}"] = end((n for n in ends if n is not None), default=None)
    return found


def _ranges(row: Numbers) -> str:
    ranges = []
    if row["by_message"] < row["good"]:
        boots = _within(row, "device_boot", "senml_boot")
        ranges.append(f"({boots} AND {_within(row, 'device_sequence', 'senml_sequence')})")
    if row["by_message"]:
        ranges.append(f"({_within(row, 'message', 'message')})")
    return " OR ".join(ranges) or "FALSE"


def _within(row: Numbers, column: str, name: str) -> str:
    # Spark rewrites BETWEEN while planning, which is slow for many of them.
    return f"{column} >= {row[f'least_{name}']} AND {column} <= {row[f'greatest_{name}']}"


def _is_numbered() -> Column:
    names = ("senml_device", "senml_boot", "senml_sequence")
    return reduce(Column.__and__, (F.col(name).isNotNull() for name in names))


def readings_of(records: DataFrame, batch: int) -> DataFrame:
    """Convert SenML records to rows of the table `sensor_readings`. Refused records are omitted."""

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in batches:
            yield reading_columns(one, batch)

    return records.mapInArrow(made, READINGS)


def first_readings(candidates: DataFrame) -> DataFrame:
    order = Window.partitionBy("gateway", "identity").orderBy("sequence", "boot", "position")
    ranked = candidates.withColumn("nth", F.row_number().over(order)).where("nth = 1")
    return ranked.select(*READINGS.fieldNames())


def new_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select the candidate readings that are not stored yet.

    No two candidates may have the same identity.
    """
    known = readings.select("gateway", "identity")
    return candidates.join(known, ["gateway", "identity"], "left_anti").select(
        *READINGS.fieldNames()
    )


def conflicting_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select the candidate readings that contradict a stored reading.

    Two readings contradict each other if they have the same identity, but another value, unit or
    time. This happens if the counters of a board have restarted. The candidate is then a new
    reading, not a duplicate, and must not be dropped.
    """
    contents = [
        "name",
        "time",
        "value",
        "string_value",
        "boolean_value",
        "data_value",
        "sum",
        "unit",
    ]
    known = readings.select("gateway", "identity", F.struct(*contents).alias("known"))
    both = candidates.withColumn("contents", F.struct(*contents)).join(
        known, ["gateway", "identity"]
    )
    return both.where(~F.col("contents").eqNullSafe(F.col("known")))

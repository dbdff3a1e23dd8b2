"""From SenML records to rows of `sensor_readings`, each reading once (docs/formats/readings.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.outline import Outline
from cloud_jobs.ingest.reading_columns import reading_columns
from cloud_jobs.ingest.split import Split
from cloud_jobs.limits import GATEWAYS_NAMED_MAX, KEY_RANGES_MAX
from cloud_jobs.tables.schemas import READINGS

Numbers: TypeAlias = Mapping[str, Any]
"""What is known of a gateway's records: counts, and ranges of their numbers."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a batch's records are, without their contents."""

    good: int
    wrong: int
    """Records that stand for a refused payload."""
    near: Column
    """A filter that holds for every stored reading that one of them may repeat, and lets Delta
    skip the files whose numbers lie elsewhere."""


def found_of(plain: Split, odd: DataFrame | None) -> Found:
    """Sum up the records of plain gateways, and those of others, which are counted."""
    rows = [*_ranges_of(plain), *(_counted(odd) if odd is not None else ())]
    good, wrong = sum(row["good"] for row in rows), sum(row["wrong"] for row in rows)
    return Found(good, wrong, _near([row for row in rows if row["good"]]))


def _ranges_of(plain: Split) -> Iterator[Numbers]:
    """Return counts and ranges of numbers as `_counted` does, from outlines."""
    outlines: dict[str, list[Outline]] = {}
    for gateway, outline in plain.numbers:
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
    """Count records, and find the ranges of their numbers for each gateway."""
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


def _near(rows: list[Numbers]) -> Column:
    names = sorted({row["gateway"] for row in rows})
    if len(names) > GATEWAYS_NAMED_MAX:
        return _ranges(_of_all(rows))
    if len(names) > KEY_RANGES_MAX:
        return F.col("gateway").isin(*names) & _ranges(_of_all(rows))
    near = F.lit(False)
    for row in rows:
        near |= (F.col("gateway") == row["gateway"]) & _ranges(row)
    return near


def _of_all(rows: list[Numbers]) -> Numbers:
    """Return the widest of all ranges, and the sums of all counts."""
    found: dict[str, Any] = {
        name: sum(row[name] for row in rows) for name in ("good", "by_message")
    }
    for name in ("senml_boot", "senml_sequence", "message"):
        for which, end in (("least", min), ("greatest", max)):
            ends = (row[f"{which}_{name}"] for row in rows)
            found[f"{which}_{name}"] = end((n for n in ends if n is not None), default=None)
    return found


def _ranges(row: Numbers) -> Column:
    ranges = F.lit(False)
    if row["by_message"] < row["good"]:
        ranges |= _within(row, "device_boot", "senml_boot") & _within(
            row, "device_sequence", "senml_sequence"
        )
    if row["by_message"]:
        ranges |= _within(row, "message", "message")
    return ranges


def _within(row: Numbers, column: str, name: str) -> Column:
    return F.col(column).between(row[f"least_{name}"], row[f"greatest_{name}"])


def _is_numbered() -> Column:
    names = ("senml_device", "senml_boot", "senml_sequence")
    return reduce(Column.__and__, (F.col(name).isNotNull() for name in names))


def readings_of(records: DataFrame, batch: int) -> DataFrame:
    """Select the records that are not refused as rows of `sensor_readings`."""

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in batches:
            yield reading_columns(one, batch)

    return records.mapInArrow(made, READINGS)


def first_readings(candidates: DataFrame) -> DataFrame:
    order = Window.partitionBy("gateway", "identity").orderBy("sequence", "boot", "position")
    ranked = candidates.withColumn("nth", F.row_number().over(order)).where("nth = 1")
    return ranked.select(*READINGS.fieldNames())


def new_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select the candidates, of distinct identities, that are not in the table yet."""
    known = readings.select("gateway", "identity")
    return candidates.join(known, ["gateway", "identity"], "left_anti").select(
        *READINGS.fieldNames()
    )


def conflicting_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select candidates with the identity of a stored reading and another value, unit or time.

    A board whose counters began again looks like this: its readings must not vanish as repeats.
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

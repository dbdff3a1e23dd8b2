"""Deduplication of events. A repeated run selects the same rows.

A verified segment contains each event number between its first and its last. Only segments with
overlapping ranges of numbers can contain the same event. In all other segments, every line is a new
event, so no query, sort or shuffle is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.segment_states import Ledger
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.limits import KEY_RANGES_MAX
from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import EVENTS

KEY = ("gateway", "boot", "sequence")


def first_of_each(candidates: DataFrame) -> DataFrame:
    """Keep one row per event.

    If an event occurs several times, keep the row from the segment with the lowest number. If the
    numbers are equal, the segment's name decides.
    """
    order = Window.partitionBy(*KEY).orderBy("segment", "segment_name", "line")
    ranked = candidates.withColumn("rank", F.row_number().over(order)).where("rank = 1")
    return ranked.select(*EVENTS.fieldNames())


def new_events(candidates: DataFrame, events: DataFrame, ranges: Column) -> DataFrame:
    """Select the candidate events that are not stored in the table `events` yet, each event once.

    `ranges` is a filter that limits which stored events are read (see `ranges_of`). It must be true
    for all stored events that are also among the candidates.
    """
    known = events.where(ranges).select(*KEY)
    return (
        first_of_each(candidates).join(known, list(KEY), "left_anti").select(*EVENTS.fieldNames())
    )


def conflicting_events(candidates: DataFrame, events: DataFrame, ranges: Column) -> DataFrame:
    """Select the candidate events that contradict a stored event.

    Two events contradict each other if they have the same identity but different contents. `ranges`
    is a filter that limits which stored events are read (see `ranges_of`). It must be true for
    every stored event that may have the identity of a candidate.
    """
    contents = ["event", "time", "store", *EVENT_FIELDS, "extra"]
    known = events.where(ranges).select(
        *KEY, F.struct(*contents).alias("known"), F.col("segment_name").alias("known_segment")
    )
    both = candidates.withColumn("contents", F.struct(*contents)).join(known, list(KEY))
    return both.where(~F.col("contents").eqNullSafe(F.col("known")))


def ranges_of(files: Iterable[SignedFile]) -> Column:
    """Return a filter that is true for every event in the segments `files`.

    Delta uses the filter to skip data files with other events. It is based on the first and the
    last event number of each segment, which were compared with the lines and are thus reliable.
    """
    ranges: dict[str, tuple[int, int]] = {}
    for file in files:
        least, greatest = ranges.get(file.gateway, (file.first_sequence, file.last_sequence))
        ranges[file.gateway] = (
            min(least, file.first_sequence),
            max(greatest, file.last_sequence),
        )
    if len(ranges) > KEY_RANGES_MAX:
        return F.lit(True)
    gateway, sequence = F.col("gateway"), F.col("sequence")
    each = (
        (gateway == name) & (sequence >= least) & (sequence <= greatest)
        for name, (least, greatest) in ranges.items()
    )
    return reduce(Column.__or__, each, F.lit(False))


def overlapping(files: Sequence[SignedFile], ledger: Ledger) -> list[SignedFile]:
    """Return the files whose range of event numbers overlaps that of another segment.

    The other segment is in the same batch, or was ingested by an earlier batch.
    """
    found = {file for file in files if file.path in ledger.overlapped}
    last: dict[tuple[str, str], SignedFile] = {}
    for file in sorted(files, key=lambda one: (one.first_sequence, one.last_sequence)):
        before = last.get((file.gateway, file.boot))
        if before is not None and file.first_sequence <= before.last_sequence:
            found |= {before, file}
        if before is None or file.last_sequence > before.last_sequence:
            last[file.gateway, file.boot] = file
    return sorted(found, key=lambda one: one.path)

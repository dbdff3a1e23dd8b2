"""Two landings of gateways. The second landing changes the results of the first."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from cloud_jobs.ingest import staging
from cloud_jobs.ingest.staging import ARROW_STAGED, judging
from cloud_jobs.ingest.unpacking import Mapped
from tests.audit_checks.events import begin, completed, one_batch, opened, queued, received, started
from tests.audit_checks.events import held as held_event
from tests.audit_checks.events import released as released_event
from tests.cloud_jobs.landings import log_of
from tests.contract.segments import TIME_MS, Segment, held, payload_of, released

CONTENTS = ("began", "events", "records", "outline")
"""Columns of a staged file that are null for a refused one."""
DAY_MS = 86_400_000
FIRST = datetime.date(2025, 11, 21)
"""The day of TIME_MS."""


def day(number: int) -> datetime.date:
    return FIRST + datetime.timedelta(days=number)


def two_starts() -> tuple[Segment, Segment]:
    """Return the two starts of a gateway that was off for three days.

    The second one lands later.
    """
    log = log_of("off")
    one = log.seal([opened(1)])
    log.boot, log.time_ms = "fedcba9876543210", TIME_MS + 3 * DAY_MS
    return one, log.seal([opened(2)])


def late_half() -> tuple[Segment, Segment]:
    """Return the two halves of a delivery over two days. The second half lands first."""
    log = log_of("half")
    one = log.seal([*begin(held_event(1)), *one_batch(released_event(1), queued(1, 0))])
    log.time_ms = TIME_MS + DAY_MS
    return one, log.seal([started(1, 0), received(1), completed(1)])


def later_format() -> tuple[Segment, Segment]:
    """Return two segments of a gateway.

    An earlier version of the job does not know the second's format.
    """
    log = log_of("tail")
    return log.seal([opened(1)]), log.seal([opened(2)])


@contextmanager
def earlier_job() -> Iterator[None]:
    """Patch the job as a version that does not know `later_format`'s second segment."""
    _, unknown = later_format()

    def refusing(source: str) -> Mapped:
        return lambda batches: map(refused, judging(source)(batches))

    def refused(batch: pa.RecordBatch) -> pa.RecordBatch:
        (row,) = batch.to_pylist()
        if row["name"] != unknown.name:
            return batch
        # A refused file has no contents.
        nothing = dict.fromkeys(CONTENTS)
        return pa.RecordBatch.from_pylist([row | nothing | {"reason": "version"}], ARROW_STAGED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "judging", refusing)
        yield


def numbered_readings() -> tuple[Segment, Segment, Segment]:
    """Return readings 1, 2 | 3 | 4, 7 of a sensor.

    The middle lands later; 5 and 6 never existed.
    """
    log = log_of("sensor")

    def of(*numbers: int) -> Segment:
        events = [(held(n, payload_of(n, sequence=n)), released(n)) for n in numbers]
        return log.seal([event for pair in events for event in pair])

    return of(1, 2), of(3), of(4, 7)


def late_clock(gateway: str, time_ms: int) -> tuple[Segment, Segment]:
    """Return a message recorded while the clock showed `time_ms`, and the later step of the clock.

    A gateway never writes times before those of its last run, so `step_ms` is that of the clock
    alone.
    """
    log = log_of(gateway)
    log.clock, log.time_ms = "unsynchronised", time_ms
    one = log.seal([opened(1), held(1, payload_of(1.0, device=gateway)), released(1)])
    log.clock, log.time_ms = "synchronised", TIME_MS
    return one, log.seal([{"event": "clock_stepped", "step_ms": TIME_MS - 30}, opened(2)])


def two_landings() -> tuple[list[Segment], list[Segment]]:
    """Return the segments of the first landing and those of the second."""
    (off, on), (begun, ended) = two_starts(), late_half()
    one, middle, last = numbered_readings()
    unset, is_set = zip(late_clock("clock", 0), late_clock("floor", TIME_MS - 9_000), strict=True)
    return [off, ended, one, last, *unset, *later_format()], [on, begun, middle, *is_set]

"""The life of tables in one short chain: ingest, gold, report, requeue, compact, vacuum, and what
other engines read then. Two landings, the second of which changes what the first one showed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.page import page_of
from cloud_jobs.gold.run import gold
from cloud_jobs.ingest import batch
from cloud_jobs.ingest.staging import read_and_verify
from cloud_jobs.limits import DAY_MIN
from cloud_jobs.maintenance import vacuum as maintenance
from cloud_jobs.maintenance.compact import compact
from cloud_jobs.maintenance.requeue import requeue
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.engines import columns_of, plain, rows_of_deltalake, rows_of_duckdb
from tests.cloud_jobs.landings import land, log_of
from tests.contract.segments import TIME_MS, Segment, held, payload_of, released
from tests.laws.events import begin, completed, one_batch, opened, queued, received, started
from tests.laws.events import held as law_held
from tests.laws.events import released as law_released

DAY_MS = 86_400_000
FIRST = datetime.date(2025, 11, 21)
"""The day of TIME_MS."""


def day(number: int) -> datetime.date:
    return FIRST + datetime.timedelta(days=number)


def two_starts() -> tuple[Segment, Segment]:
    """A gateway that is off for three days; its second start lands later."""
    log = log_of("off")
    one = log.seal([opened(1)])
    log.boot, log.time_ms = "fedcba9876543210", TIME_MS + 3 * DAY_MS
    return one, log.seal([opened(2)])


def late_half() -> tuple[Segment, Segment]:
    """A delivery that began on one day and ended on the next, which landed first."""
    log = log_of("half")
    one = log.seal([*begin(law_held(1)), *one_batch(law_released(1), queued(1, 0))])
    log.time_ms = TIME_MS + DAY_MS
    return one, log.seal([started(1, 0), received(1), completed(1)])


def later_format() -> tuple[Segment, Segment]:
    """A gateway whose second segment is of a format that an earlier job does not know."""
    log = log_of("tail")
    return log.seal([opened(1)]), log.seal([opened(2)])


@contextmanager
def earlier_job(unknown: Segment) -> Iterator[None]:
    """The job of a version that does not know the format of one segment."""

    def refusing(*of: Any) -> DataFrame:
        is_unknown = F.col("name") == unknown.name
        reason = F.when(is_unknown, "version").otherwise(F.col("reason"))
        # What is refused has no events.
        events = F.when(~is_unknown, F.col("events"))
        return read_and_verify(*of).withColumns({"reason": reason, "events": events})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "read_and_verify", refusing)
        yield


def numbered_readings() -> tuple[Segment, Segment, Segment]:
    """A sensor's numbers 1, 2 | 3 | 4, 7: the middle lands later, 5 and 6 never were."""
    log = log_of("sensor")

    def of(*numbers: int) -> Segment:
        events = [(held(n, payload_of(n, sequence=n)), released(n)) for n in numbers]
        return log.seal([event for pair in events for event in pair])

    return of(1, 2), of(3), of(4, 7)


def late_clock(gateway: str, time_ms: int) -> tuple[Segment, Segment]:
    """A message that was taken while the clock showed `time_ms`; the clock was set later.

    The gateway never writes times before those of its last run: `step_ms` is of the clock alone.
    """
    log = log_of(gateway)
    log.clock, log.time_ms = "unsynchronised", time_ms
    one = log.seal([opened(1), held(1, payload_of(1.0, device=gateway)), released(1)])
    log.clock, log.time_ms = "synchronised", TIME_MS
    return one, log.seal([{"event": "clock_stepped", "step_ms": TIME_MS - 30}, opened(2)])


class Chain:
    """A place after two landings, and what `gold` returned after each of its runs."""

    LOOKED_AT = (("qos2_daily", "gateway = 'half'"), ("gateway_health", "gateway = 'clock'"))

    def __init__(self, place: Place) -> None:
        self.place = place
        self.results: list[dict[str, Any]] = []
        self.gaps: list[list[str]] = []
        self.before: list[list[Row]] = []
        """LOOKED_AT between the landings."""

    def run(self, *segments: Segment, is_audited: bool = True) -> None:
        land(self.place.landing, *segments)
        self.place.run()
        self.gold(is_audited=is_audited)

    def gold(self, *, is_audited: bool = True) -> None:
        tables = self.place.settings.tables
        self.results.append(gold(self.place.spark, tables, lambda _: None, is_audited=is_audited))
        self.gaps.append(
            [f"{row['from_sequence']}-{row['to_sequence']}"
             for row in self.place.rows("gaps", "kind = 'sensor'")]
        )  # fmt: skip


@pytest.fixture(scope="module")
def chain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Chain:
    chain = Chain(Place(spark, tmp_path_factory.mktemp("chain")))
    (off, on), (begun, ended) = two_starts(), late_half()
    one, middle, last = numbered_readings()
    unset, is_set = zip(late_clock("clock", 0), late_clock("floor", TIME_MS - 9_000), strict=True)
    known, unknown = later_format()
    with earlier_job(unknown):
        chain.run(off, ended, known, unknown, one, last, *unset, is_audited=False)
    chain.before = [chain.place.rows(name, where) for name, where in chain.LOOKED_AT]
    chain.run(on, begun, middle, *is_set, is_audited=False)
    chain.gold()
    return chain


def test_days_on_which_a_gateway_was_off_are_rows_when_its_next_start_lands(chain: Chain) -> None:
    rows = chain.place.rows("gateway_health", "gateway = 'off'")
    off = {row["day"]: (row["events"], row["offline_seconds"]) for row in rows}
    assert [off[day(n)][0] for n in range(4)] == [1, 0, 0, 1]
    assert off[day(1)][1] == off[day(2)][1] == 86_400
    assert sum(seconds for _, seconds in off.values()) == pytest.approx(3 * 86_400, abs=1)


def test_a_half_that_lands_late_takes_its_delivery_from_the_day_that_had_it(chain: Chain) -> None:
    half, _ = chain.before
    assert [(row["day"], row["deliveries"]) for row in half] == [(day(1), 1)]
    rows = chain.place.rows("qos2_daily", "gateway = 'half'")
    assert [(row["day"], row["messages"], row["deliveries"]) for row in rows] == [(day(0), 1, 1)]


def test_verdicts_are_made_up_for_by_the_next_run_that_audits(chain: Chain) -> None:
    found = [(result["batches"], result["is_audited"]) for result in chain.results]
    assert found == [(1, False), (1, False), (0, True)]
    assert len(chain.place.rows("gold_runs")) == 5
    (tail,) = chain.place.rows("audit_daily", "gateway = 'tail'")
    assert (tail["verdict"], tail["day"]) == ("inconclusive", day(0))
    (half,) = chain.place.rows("qos2_deliveries", "gateway = 'half'")
    assert (half["verdict"], half["state"]) == ("ok", "completed")


def test_a_gap_in_a_sensors_own_numbers_closes_when_its_readings_land(chain: Chain) -> None:
    assert sorted(chain.gaps[0]) == ["3-3", "5-6"]
    assert chain.gaps[-1] == ["5-6"]


def test_times_of_a_start_are_corrected_when_its_clock_is_set(chain: Chain) -> None:
    _, (unset,) = chain.before
    assert (unset["day"], unset["time_quality"]) == (DAY_MIN, "unknown")
    for gateway, late_by in (("clock", 0), ("floor", 20)):
        (health,) = chain.place.rows("gateway_health", f"gateway = '{gateway}'")
        assert (health["day"], health["events"], health["time_quality"]) == (day(0), 5, "corrected")
        (message,) = chain.place.rows("qos2_messages", f"gateway = '{gateway}'")
        assert (message["day"], message["time_quality"]) == (day(0), "corrected")
        (daily,) = chain.place.rows("qos2_daily", f"gateway = '{gateway}'")
        assert (daily["day"], daily["messages"]) == (day(0), 1)
        seconds = TIME_MS / 1000 - message["held"].timestamp()
        assert seconds == pytest.approx((20 - late_by) / 1000, abs=0.011)
    written = chain.place.rows("events", "gateway = 'clock' AND clock = 'unsynchronised'")
    assert {row["day"] for row in written} == {DAY_MIN}


def test_the_page_has_the_gaps_and_what_was_refused(chain: Chain) -> None:
    now = datetime.datetime(2025, 11, 25, tzinfo=datetime.UTC)
    page = page_of(read_figures(chain.place.settings.tables, 7, now))
    for text in ("sensor", "in quarantine: version", "6 gateways"):
        assert text in page


def test_tables_that_were_maintained_are_read_by_other_engines_and_take_what_is_known_now(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of each kind one: a day that was rewritten, rows that were merged, rows that were updated.
    monkeypatch.setattr(maintenance, "NAMES", ("gateway_health", "qos2_messages", "quarantine"))
    place = chain.place
    tables = Tables(place.spark, place.settings.tables)
    assert requeue(tables, reason="version", gateway=None)["segments"] == 1
    expected = {}
    for name in (*TABLES, *GOLD_TABLES):
        columns = columns_of(Path(tables.path(name)))
        expected[name] = sorted(plain(row.asDict(), columns) for row in place.rows(name))
    compact(tables, lambda _: None)
    maintenance.vacuum(tables, lambda _: None, keep_days=0, is_dry=False)
    for name, rows in expected.items():
        assert rows_of_deltalake(Path(tables.path(name))) == rows, name
        assert rows_of_duckdb(Path(tables.path(name))) == rows, name
    # This job knows its format.
    assert place.run().segments_ingested == 1
    assert len(place.rows("events", "gateway = 'tail'")) == 2

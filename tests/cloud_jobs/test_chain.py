"""A chain of all commands on one set of tables, which other engines then read.

The commands are ingest, gold, report, requeue, compact and vacuum. Of two landings, the second
changes the results of the first.
"""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.page import page_of
from cloud_jobs.limits import DAY_MIN
from cloud_jobs.maintenance import vacuum as maintenance
from cloud_jobs.maintenance.compact import compact
from cloud_jobs.maintenance.requeue import requeue
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Ingested, MadeGold, Place
from tests.cloud_jobs.engines import columns_of, plain, rows_of_deltalake, rows_of_duckdb
from tests.contract.segments import TIME_MS

FIRST = datetime.date(2025, 11, 21)
"""The day of TIME_MS."""


def day(number: int) -> datetime.date:
    return FIRST + datetime.timedelta(days=number)


def test_days_on_which_a_gateway_was_off_are_rows_when_its_next_start_lands(golden: Place) -> None:
    rows = golden.rows("gateway_health", "gateway = 'off'")
    off = {row["day"]: (row["events"], row["offline_seconds"]) for row in rows}
    assert [off[day(n)][0] for n in range(4)] == [1, 0, 0, 1]
    assert off[day(1)][1] == off[day(2)][1] == 86_400
    assert sum(seconds for _, seconds in off.values()) == pytest.approx(3 * 86_400, abs=1)


def test_a_half_that_lands_late_takes_its_delivery_from_the_day_that_had_it(
    made_gold: MadeGold,
) -> None:
    half = [row for row in made_gold.between["qos2_daily"] if row["gateway"] == "half"]
    assert [(row["day"], row["deliveries"]) for row in half] == [(day(1), 1)]
    rows = made_gold.place.rows("qos2_daily", "gateway = 'half'")
    assert [(row["day"], row["messages"], row["deliveries"]) for row in rows] == [(day(0), 1, 1)]


def test_verdicts_are_made_up_for_by_the_next_run_that_audits(made_gold: MadeGold) -> None:
    found = [(result["batches"], result["is_audited"]) for result in made_gold.results]
    assert found == [(1, True), (1, False), (0, True)]
    place = made_gold.place
    assert len(place.rows("gold_runs")) == 5
    (tail,) = place.rows("audit_daily", "gateway = 'tail'")
    assert (tail["verdict"], tail["day"]) == ("inconclusive", day(0))
    (half,) = place.rows("qos2_deliveries", "gateway = 'half'")
    assert (half["verdict"], half["state"]) == ("ok", "completed")


def test_a_gap_in_a_sensors_own_numbers_closes_when_its_readings_land(made_gold: MadeGold) -> None:
    of_sensor = "gateway = 'sensor' AND kind = 'sensor'"
    before, after = (
        sorted((row["from_sequence"], row["to_sequence"]) for row in rows
               if (row["gateway"], row["kind"]) == ("sensor", "sensor"))
        for rows in (made_gold.between["gaps"], made_gold.place.rows("gaps", of_sensor))
    )  # fmt: skip
    assert (before, after) == ([(3, 3), (5, 6)], [(5, 6)])


def test_times_of_a_start_are_corrected_when_its_clock_is_set(made_gold: MadeGold) -> None:
    (unset,) = [row for row in made_gold.between["gateway_health"] if row["gateway"] == "clock"]
    assert (unset["day"], unset["time_quality"]) == (DAY_MIN, "unknown")
    place = made_gold.place
    for gateway, late_by in (("clock", 0), ("floor", 20)):
        (health,) = place.rows("gateway_health", f"gateway = '{gateway}'")
        assert (health["day"], health["events"], health["time_quality"]) == (day(0), 5, "corrected")
        (message,) = place.rows("qos2_messages", f"gateway = '{gateway}'")
        assert (message["day"], message["time_quality"]) == (day(0), "corrected")
        (daily,) = place.rows("qos2_daily", f"gateway = '{gateway}'")
        assert (daily["day"], daily["messages"]) == (day(0), 1)
        seconds = TIME_MS / 1000 - message["held"].timestamp()
        assert seconds == pytest.approx((20 - late_by) / 1000, abs=0.011)
    written = place.rows("events", "gateway = 'clock' AND clock = 'unsynchronised'")
    assert {row["day"] for row in written} == {DAY_MIN}


def test_the_page_has_the_gaps_and_what_was_refused(golden: Place) -> None:
    now = datetime.datetime(2025, 11, 25, tzinfo=datetime.UTC)
    page = page_of(read_figures(golden.settings.tables, 7, now))
    gateways = {row["gateway"] for row in golden.rows("boots")}
    for text in ("sensor", "in quarantine: version", f"{len(gateways)} gateways"):
        assert text in page


def test_tables_that_were_maintained_are_read_by_other_engines_and_take_what_is_known_now(
    golden: Place, ingested: Ingested, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One table of each kind: days that are replaced, rows that are merged, rows that are updated.
    monkeypatch.setattr(maintenance, "NAMES", ("gateway_health", "qos2_messages", "quarantine"))
    place = ingested.before_the_second_batch(tmp_path)
    shutil.copytree(golden.settings.tables, place.settings.tables, dirs_exist_ok=True)
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
    # This version of the job knows the segment's format.
    assert place.run().segments_ingested == 1
    assert len(place.rows("events", "gateway = 'tail'")) == 2

"""A simulated fleet with faults, ingested in several runs that are killed in between.

The tables must show the fleet's truth and name every fault, wherever Spark and the tables are.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from cloud_jobs.gold.steps import PHASES
from cloud_jobs.ingest.batch import STEPS
from cloud_jobs.limits import TASK_TRIES_MAX
from tests.cloud_jobs import deaths
from tests.cloud_jobs.conftest import Ingested, Place
from tests.cloud_jobs.deaths import killed_at
from tests.cloud_jobs.fleet_checks import check
from tests.cloud_jobs.object_store.server import BUCKET, Fault, object_store
from tests.cloud_jobs.processes import (
    Kill,
    Outcome,
    everything,
    executor,
    started,
    submitted,
)
from tests.instruments.fleet.fleet import Truth, fleet_of

SEED = 14
GOLD_STEPS = ("begin", "clock_corrections", "boots", "sessions", "sensors", "qos2_messages",
              "qos2_deliveries", "discarded", "qos2_daily", "gateway_health", "gaps",
              "audit_daily")  # fmt: skip
SECONDS_MAX = 7_200
CLUSTER = "local-cluster[2,1,1024]"
SIZES = pytest.mark.parametrize(("gateways", "landings"), [(5, 2), (50, 4)])
LINES = {
    "ingest": ("verifying", ": keys", ": events", ": sensor readings", ": segments",
               "counting"),
    "gold": tuple(f"step {number + 1} of {len(PHASES)}" for number in range(len(PHASES))),
}  # fmt: skip
"""Progress lines by command.

A process that dies at one has not committed the step that it begins.
"""
ENDED, GAPS = 0, 4
"""Exit codes of a run that completes. GAPS is the code if events are missing."""


def test_a_small_fleet_with_every_fault_is_in_the_tables_as_it_was(
    golden: Place, ingested: Ingested
) -> None:
    def rows(name: str) -> list[dict[str, Any]]:
        # A duplicate has no gateway.
        mine = "gateway LIKE 'gw-00_'"
        if name == "segments":
            mine += " OR name LIKE 'copy-of-gw-00_%'"
        return [row.asDict() for row in golden.rows(name, mine)]

    check(rows, ingested.fleet)


def live(place: Place, *, gateways: int, landings: int) -> Truth:
    """Land a fleet, and kill each run once, at a step that the seed chooses."""
    fleet = fleet_of(SEED, gateways=gateways, landings=landings)
    source = random.Random(SEED)  # noqa: S311 - the same deaths in every run
    for number in range(landings):
        fleet.land(number, place.landing)
        killed_at(source.choice(STEPS[:-1]), lambda die: deaths.ingested(place, die))
        if number < landings - 1:
            continue
        deaths.ingested(place)
        killed_at(source.choice(GOLD_STEPS), lambda die: deaths.made_gold(place, die))
        deaths.made_gold(place)
    return fleet.truth


@SIZES
@pytest.mark.long
@pytest.mark.timeout(SECONDS_MAX)
def test_a_fleet_with_every_fault_is_in_the_tables_as_it_was(
    place: Place, gateways: int, landings: int
) -> None:
    truth = live(place, gateways=gateways, landings=landings)
    check(lambda name: [row.asDict() for row in place.rows(name)], truth)


Run = Callable[[list[str], Kill | None], Outcome]


def run_with_deaths(run: Run, verb: list[str], source: random.Random) -> None:
    """Kill a run at a line that the seed chooses, and complete its work with a second run."""
    line = source.choice(LINES[verb[0]])
    assert run(verb, Kill(line, everything)).code not in (ENDED, GAPS)
    found = run(verb, None)
    assert found.code in (ENDED, GAPS), found.printed


@SIZES
@pytest.mark.long
@pytest.mark.timeout(SECONDS_MAX)
def test_on_a_cluster_drivers_and_executors_die_and_the_tables_are_the_same(
    tmp_path: Path, gateways: int, landings: int
) -> None:
    fleet = fleet_of(SEED, gateways=gateways, landings=landings)
    source = random.Random(SEED)  # noqa: S311 - the same deaths in every run
    landing, tables = tmp_path / "landed", str(tmp_path / "tables")

    def run(verb: list[str], kill: Kill | None) -> Outcome:
        return submitted(tmp_path, CLUSTER, verb, kill=kill)

    ingest = ["ingest", "--source", str(landing), "--tables", tables]
    for number in range(landings):
        fleet.land(number, landing)
        if number % 2 == 0:
            run_with_deaths(run, ingest, source)
            continue
        # The driver continues with another executor.
        found = run(ingest, Kill(source.choice(LINES["ingest"]), executor))
        assert found.code in (ENDED, GAPS), found.printed
    run_with_deaths(run, ["gold", "--tables", tables], source)
    check(_rows_of(tables), fleet.truth)


@SIZES
@pytest.mark.long
@pytest.mark.timeout(SECONDS_MAX)
def test_in_an_object_store_that_fails_now_and_then_the_tables_are_the_same(
    gateways: int, landings: int
) -> None:
    fleet = fleet_of(SEED, gateways=gateways, landings=landings)
    source = random.Random(SEED)  # noqa: S311 - the same deaths in every run
    with object_store() as store:

        def run(verb: list[str], kill: Kill | None) -> Outcome:
            master = {"spark.master": f"local[2,{TASK_TRIES_MAX}]"}
            return started(verb, master | store.spark_settings, kill=kill)

        tables = ["--tables", f"s3a://{BUCKET}/tables"]
        for number, files in enumerate(fleet.landings):
            for path, content in files:
                store.put(f"landed/{path}", content)
            store.fail_every, store.faults = (37, tuple(Fault)) if number else (0, ())
            run_with_deaths(run, ["ingest", "--source", f"s3a://{BUCKET}/landed", *tables], source)
        run_with_deaths(run, ["gold", *tables], source)
        assert store.failures > 0
        store.fail_every = 0
        check(_rows_of(f"s3://{BUCKET}/tables", store.deltalake_options), fleet.truth)


def _rows_of(
    root: str, options: dict[str, str] | None = None
) -> Callable[[str], list[dict[str, Any]]]:
    def rows(name: str) -> list[dict[str, Any]]:
        table = DeltaTable(f"{root}/{name}", storage_options=options)
        found: list[dict[str, Any]] = table.to_pyarrow_table().to_pylist()
        return found

    return rows

"""A run of `gold` reads and updates the gateways that have something new."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from cloud_jobs.gold import gateways
from cloud_jobs.gold.gateways import Chosen, Gateway, gateways_in, with_news
from cloud_jobs.ingest.withdrawal import WITHDRAWN
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.in_memory import InMemory
from tests.audit_checks.cases import CASES
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.deaths import made_gold
from tests.cloud_jobs.landings import land
from tests.contract.segments import LogWriter, opened, readings

FLEET = [Gateway("a", 3, 10, 0), Gateway("b", 5, 20, 0), Gateway("c", 4, 40, 2)]


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (1, Chosen(None, 70)),
        (4, Chosen(frozenset({"b", "c"}), 60)),
        (5, Chosen(frozenset({"b"}), 20)),
        (6, Chosen(frozenset(), 0)),
    ],
)
def test_gateways_with_something_new_are_chosen(since: int, expected: Chosen) -> None:
    assert with_news(FLEET, since) == expected


def test_too_many_to_name_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "GATEWAYS_PER_RUN_MAX", 1)
    assert with_news(FLEET, 4) == Chosen(None, 70)
    assert with_news(FLEET, 5) == Chosen(frozenset({"b"}), 20)


def test_each_gateway_has_its_last_batch_and_its_events(golden: Place) -> None:
    tables = Tables(golden.spark, golden.settings.tables)
    found = {one.name: one for one in gateways_in(tables)}
    counted = tables.query("SELECT gateway, count(*) AS events FROM {events} GROUP BY gateway")
    assert counted
    assert {row["gateway"] for row in counted} <= {*found}
    # Lines of events that were ingested before are counted too.
    assert all(found[row["gateway"]].events >= row["events"] for row in counted)
    assert {one.batch for one in found.values()} == {1, 2}
    assert {one.withdrawn for one in found.values()} == {0}


def test_segments_and_keys_are_something_new() -> None:
    ingested = ("a", 1, "ingested", None, 5, 1)
    withdrawn = ("a", 2, "quarantined", WITHDRAWN, 7, 0)
    nameless = (None, 3, "quarantined", "not zstd", None, None)
    names = ("gateway", "batch", "state", "detail", "lines", "bad_lines")
    with InMemory() as tables:
        tables.add("segments", pa.table({name: [] for name in names}))
        assert gateways_in(tables, has_keys=False) == []
        rows = [dict(zip(names, row, strict=True)) for row in (ingested, withdrawn, nameless)]
        tables.append("segments", names, rows)
        assert gateways_in(tables, has_keys=False) == [Gateway("a", 2, 4, 2)]
        tables.add("gateway_keys", pa.table({"gateway": ["a"], "batch": [3]}))
        assert gateways_in(tables) == [Gateway("a", 3, 4, 2)]


@pytest.mark.long
def test_runs_for_some_gateways_write_the_rows_of_one_run_for_all(
    place: Place, tmp_path: Path
) -> None:
    for case in CASES:
        case.land(place.landing)
    log = LogWriter("gap", store="0" * 15 + "7")
    land(place.landing, log.seal([opened(1), *readings(2)]))
    place.run()
    made_gold(place)
    log.seal(readings(2, first=3))
    land(place.landing, log.seal(readings(2, first=5)))
    place.run()
    whole = Place(place.spark, tmp_path / "whole")
    shutil.copytree(place.settings.tables, whole.settings.tables)
    for name in GOLD_TABLES:
        shutil.rmtree(Path(whole.settings.tables, name))
    made_gold(place)
    made_gold(whole)
    assert {row["gateway"] for row in place.rows("gaps", "kind = 'sequence'")} > {"gap"}
    for name in {*GOLD_TABLES} - {"gold_runs", "carried_events"}:
        found, expected = (contents(each, name) for each in (place, whole))
        assert found == expected, name


def contents(place: Place, name: str) -> list[str]:
    """Return the rows of a table, without the columns that depend on the batches of a run."""
    rows = (row.asDict() for row in place.rows(name))
    return sorted(repr({**row, "batch": None, "day_before": None}) for row in rows)

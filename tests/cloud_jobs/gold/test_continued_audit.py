"""Runs of `gold` that continue audits write what a run writes that audits all events."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cloud_jobs.audit.run import Audit
from cloud_jobs.gold import continued_audit
from cloud_jobs.gold.continued_audit import GoldAudit
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from tests.audit_checks.cases import timed
from tests.audit_checks.events import (
    Event,
    begin,
    completed,
    delivered,
    held,
    life,
    queued,
    received,
    released,
    started,
)
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.deaths import killed_at, made_gold
from tests.cloud_jobs.gold.test_gateways import contents
from tests.cloud_jobs.landings import land
from tests.contract.segments import SEED, LogWriter, Segment

IN_FLIGHT = begin(held(1), released(1), started(1, 0), held(2), released(2), queued(2, 1), held(3))
ROUNDS: dict[str, list[list[Event] | None]] = {
    "fine": [IN_FLIGHT, [received(1), completed(1), released(3), queued(3, 2)],
             [*delivered(2, 1), *delivered(3, 2), *life(4, 3)]],
    "entered-again": [begin(*life(1, 0)), life(2, 1), delivered(1, 2)],
    "lost-from-its-queue": [IN_FLIGHT, [received(1), completed(1)],
                            [released(3), queued(3, 2), *delivered(3, 2)]],
    "missing": [begin(*life(1, 0)), None, life(3, 2)],
    "late": [begin(*life(1, 0)), None, life(3, 2)],
    "signed-later": [begin(*life(1, 0)), life(2, 1), life(3, 2)],
    "idle": [begin(*life(1, 0))],
}  # fmt: skip
"""The segments of each gateway, one for each run. None is a segment that has not arrived."""
CONTINUED = [
    set(),
    {"fine", "entered-again", "lost-from-its-queue", "signed-later"},
    {"fine"},
    set(),
]
"""The gateways whose audits are continued in each run."""


@pytest.fixture
def continued(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Return the list to which each audit adds the gateways whose audits it continued."""
    found: list[set[str]] = []
    result = continued_audit._result

    def noted(audit: Audit, names: frozenset[str]) -> GoldAudit:
        found.append({*names})
        return result(audit, names)

    monkeypatch.setattr(continued_audit, "_result", noted)
    monkeypatch.setattr("cloud_jobs.gold.run.CARRIED_FROM_EVENTS", 1)
    return found


@pytest.mark.long
def test_continued_audits_write_the_verdicts_of_whole_ones(
    place: Place, tmp_path: Path, continued: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = {name: LogWriter(name, store=name.encode().hex()[:16].ljust(16, "0")) for name in ROUNDS}
    withheld: dict[str, Segment] = {}
    for number in range(3):
        for name, rounds in ROUNDS.items():
            if number < len(rounds):
                if (name, number) == ("signed-later", 2):
                    logs[name].seed = SEED
                events = rounds[number]
                segment = sealed(logs[name], events or life(2, 1))
                if events is None:
                    withheld[name] = segment
                else:
                    land(place.landing, segment)
        place.run()
        made_gold(place)
        check_against_a_whole_audit(place, tmp_path / str(number), monkeypatch)
    land(place.landing, withheld["late"])
    place.run()
    made_gold(place)
    check_against_a_whole_audit(place, tmp_path / "late", monkeypatch)
    assert continued == CONTINUED
    verdicts = {row["gateway"]: row["verdict"] for row in place.rows("audit_daily")}
    assert {name for name, verdict in verdicts.items() if verdict == "violation"} == {
        "entered-again",
        "lost-from-its-queue",
    }
    assert {name for name, verdict in verdicts.items() if verdict == "inconclusive"} == {"missing"}


def sealed(log: LogWriter, events: list[Event]) -> Segment:
    return log.seal(timed(events, log))


def check_against_a_whole_audit(place: Place, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Place(place.spark, root)
    shutil.copytree(place.settings.tables, whole.settings.tables)
    for name in GOLD_TABLES:
        shutil.rmtree(Path(whole.settings.tables, name))
    with monkeypatch.context() as patch:
        patch.setattr("cloud_jobs.gold.run.CARRIED_FROM_EVENTS", 1_000_000)
        patch.setattr(continued_audit, "_result", lambda audit, names: GoldAudit(
            audit.events, audit.findings, audit.gaps, audit.holes, names
        ))  # fmt: skip
        made_gold(whole)
    for name in {*GOLD_TABLES} - {"gold_runs", "carried_events"}:
        found, expected = (contents(each, name) for each in (place, whole))
        assert found == expected, name


@pytest.mark.long
def test_after_a_death_the_whole_log_is_audited(place: Place, continued: list[set[str]]) -> None:
    log = LogWriter("one")
    land(place.landing, sealed(log, begin(*life(1, 0))))
    place.run()
    made_gold(place)
    land(place.landing, sealed(log, life(2, 1)))
    place.run()
    killed_at("carried_events", lambda die: made_gold(place, die))
    made_gold(place)
    land(place.landing, sealed(log, life(3, 2)))
    place.run()
    made_gold(place)
    assert continued == [set(), {"one"}, set(), {"one"}]

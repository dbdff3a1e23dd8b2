"""The list of what needs attention has each fault that was planted in a fleet exactly once."""

from __future__ import annotations

import dataclasses

import pytest

from cloud_jobs.fleet_report.attention import Problem, attention_of, problems_by_gateway
from cloud_jobs.fleet_report.page_tables import REASONS
from tests.cloud_jobs.fleet_report.conftest import Fleet
from tests.cloud_jobs.fleet_report.simulated_fleet import PLANTED


@pytest.mark.parametrize(
    ("kind", "level", "line"),
    [
        ("violations", "bad", (PLANTED.violation, None,
         "1 violation found by the audit: a message was lost, doubled or changed")),
        ("silent-gateways", "bad", (PLANTED.silent_gateway, None,
         "no event for 3 d, since 2026-01-27 12:00 UTC")),
        ("damages", "bad", (PLANTED.damage, None, "damaged data on its disk, once")),
        ("full-disks", "bad", (PLANTED.full_disk, None,
         "events dropped from its log for lack of space, once")),
        ("silent-sensors", "attention", (PLANTED.silent_sensor, "board-00000003",
         "no reading of humidity, pressure, temperature for 5.17 h; usually every 60 s")),
        ("drops", "attention", (PLANTED.drops, None,
         "70 messages not delivered to archive-north: " + REASONS["queue_full"])),
        ("gaps", "attention", (PLANTED.gap, None, "1,200 events missing")),
        ("missing", "attention", (PLANTED.readings_missing, "board-00000013",
         "12 numbers missing in its own numbering, before readings of humidity")),
        ("clocks", "attention", (PLANTED.clock_of_1970, None,
         "its clock has not been set since it started: times of readings are unknown")),
        ("resets", "attention", (PLANTED.counter_reset, "meter-31",
         "energy fell once: was it replaced or restarted?")),
        ("versions", "attention", (PLANTED.old_version, None,
         "runs 0.0.9; the newest is 0.1.0")),
    ],
)  # fmt: skip
def test_each_planted_fault_is_found_and_nothing_else_of_its_kind(
    fleet: Fleet, kind: str, level: str, line: tuple[str, str | None, str]
) -> None:
    (group,) = [group for group in attention_of(fleet.figures) if group.kind == kind]
    assert list(group.problems) == [Problem(*line)]
    assert (group.count, group.level) == (1, level)


def test_the_worst_kinds_are_first(fleet: Fleet) -> None:
    levels = [group.level for group in attention_of(fleet.figures)]
    assert levels == sorted(levels, key=["bad", "attention"].index)
    assert len(levels) == 11


def test_a_gateway_without_a_fault_has_no_line(fleet: Fleet) -> None:
    groups = attention_of(fleet.figures)
    lines = problems_by_gateway(groups)
    assert lines.get("gw-0001", []) == []
    assert lines.get(PLANTED.new_gateway, []) == []
    assert [line.gateway for _, line in lines[PLANTED.drops]] == [PLANTED.drops]


def test_versions_are_compared_by_their_numbers(fleet: Fleet) -> None:
    rows = [{**row, "version": version}
            for row, version in zip(fleet.figures.gateways, ("0.9.0", "0.10.0", None, "dev"),
                                    strict=False)]  # fmt: skip
    groups = attention_of(dataclasses.replace(fleet.figures, gateways=rows))
    (old,) = [group for group in groups if group.kind == "versions"]
    assert [line.text for line in old.problems] == ["runs 0.9.0; the newest is 0.10.0"]


def test_a_gateway_whose_drops_are_beyond_the_rows_by_reason_has_their_sum(fleet: Fleet) -> None:
    groups = attention_of(dataclasses.replace(fleet.figures, not_delivered=[]))
    (drops,) = [group for group in groups if group.kind == "drops"]
    assert list(drops.problems) == [Problem(PLANTED.drops, None, "70 messages not delivered")]


def test_messages_that_expired_as_their_publisher_asked_need_no_attention(fleet: Fleet) -> None:
    expired = [{**row, "reason": "expired"} for row in fleet.figures.not_delivered]
    groups = attention_of(dataclasses.replace(fleet.figures, not_delivered=expired))
    assert "drops" not in {group.kind for group in groups}

"""Problems in a fleet that need attention, derived from the report's figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cloud_jobs.fleet_report.charts import duration, number
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.limits import SILENT_SECONDS
from cloud_jobs.fleet_report.page_tables import REASONS, Row, age, counted, when

Level = Literal["bad", "attention"]
_VERSION_PARTS_MAX: Final = 4
_NAMES_SHOWN_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a gateway or one of its sensors, described in plain text."""

    gateway: str
    sensor: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """All problems of one kind.

    `count` is the number of all problems of this kind. `problems` may contain fewer, because
    problems of sensors are limited to LINES_MAX.
    """

    kind: str
    title: str
    level: Level
    problems: Sequence[Problem]
    count: int


def attention_of(figures: Figures) -> list[Group]:
    """Return the problems that need attention, in one group per kind, the worst kind first.

    A kind without problems has no group.
    """
    sensors = figures.sensors
    rows = figures.gateways
    groups = (
        _group("violations", "Promises broken", "bad", _violations(rows)),
        _group("silent-gateways", "Silent gateways", "bad", _silent_gateways(figures),
               figures.silent_count),
        _group("damages", "Damaged disks", "bad", _damages(rows)),
        _group("full-disks", "Full disks", "bad", _full_disks(rows)),
        _group("silent-sensors", "Silent sensors", "attention", _silent_sensors(figures),
               sensors.silent_count),
        _group("drops", "Messages not delivered", "attention", _drops(figures)),
        _group("gaps", "Events missing", "attention", _gaps(rows)),
        _group("missing", "Readings missing", "attention", _missing(figures),
               sensors.missing_count),
        _group("clocks", "Clocks not set", "attention", _clocks(rows)),
        _group("resets", "Counters that fell", "attention", _resets(figures),
               sensors.resets_count),
        _group("versions", "Old versions", "attention", _old_versions(rows)),
    )  # fmt: skip
    return [group for group in groups if group.count]


def problems_by_gateway(groups: Sequence[Group]) -> dict[str, list[tuple[Group, Problem]]]:
    """Return each gateway's problems, paired with their groups."""
    found: dict[str, list[tuple[Group, Problem]]] = {}
    for group in groups:
        for problem in group.problems:
            found.setdefault(problem.gateway, []).append((group, problem))
    return found


def _group(
    kind: str, title: str, level: Level, problems: Iterator[Problem], count: int | None = None
) -> Group:
    found = list(problems)
    return Group(kind, title, level, found, max(count or 0, len(found)))


def _violations(rows: Sequence[Row]) -> Iterator[Problem]:
    for row in rows:
        if row["violations"]:
            yield Problem(row["gateway"], None,
                       f"{counted(row['violations'], 'violation')} found by the audit: a message "
                       "was lost, doubled or changed")  # fmt: skip


def _silent_gateways(figures: Figures) -> Iterator[Problem]:
    ages = [(age(figures.made_at, row.get("last_seen")), row) for row in figures.gateways]
    for seconds, row in sorted(ages, key=lambda aged: (aged[0], aged[1]["gateway"])):
        if seconds > SILENT_SECONDS:
            seen = row.get("last_seen")
            yield Problem(row["gateway"], None, "no event with a known time" if seen is None else
                       f"no event for {duration(seconds)}, since {when(seen)} UTC")  # fmt: skip


def _damages(rows: Sequence[Row]) -> Iterator[Problem]:
    for row in rows:
        if row.get("damages"):
            yield Problem(
                row["gateway"], None, f"damaged data on its disk, {_times(row['damages'])}"
            )


def _full_disks(rows: Sequence[Row]) -> Iterator[Problem]:
    for row in rows:
        if row.get("truncations"):
            yield Problem(row["gateway"], None,
                       "events dropped from its log for lack of space, "
                       f"{_times(row['truncations'])}")  # fmt: skip


def _silent_sensors(figures: Figures) -> Iterator[Problem]:
    for row in figures.sensors.silent:
        silent = max((figures.made_at - row["last_time"]).total_seconds(), 0)
        usual = f"; usually every {duration(row['usual'])}" if row["usual"] else ""
        yield Problem(row["gateway"], row["sensor"],
                   f"no reading of {_quantities(row)} for {duration(silent)}{usual}")  # fmt: skip


def _drops(figures: Figures) -> Iterator[Problem]:
    named = {row["gateway"] for row in figures.not_delivered}
    for row in figures.not_delivered:
        if row["reason"] != "expired":
            reason = REASONS.get(row["reason"], row["reason"] or "reason unknown")
            yield Problem(row["gateway"], None,
                       f"{counted(row['messages'], 'message')} not delivered to "
                       f"{row['client_id'] or 'a client'}: {reason}")  # fmt: skip
    for row in figures.gateways:
        # The number of rows by reason is limited. For other gateways only the sum is known.
        if row["messages_dropped"] and row["gateway"] not in named:
            count = counted(row["messages_dropped"], "message")
            yield Problem(row["gateway"], None, f"{count} not delivered")


def _gaps(rows: Sequence[Row]) -> Iterator[Problem]:
    for row in rows:
        if row["missing"]:
            yield Problem(row["gateway"], None, f"{counted(row['missing'], 'event')} missing")


def _missing(figures: Figures) -> Iterator[Problem]:
    for row in figures.sensors.missing:
        yield Problem(row["gateway"], row["sensor"],
                   f"{counted(row['missing'], 'number')} missing in its own numbering, "
                   f"before readings of {_quantities(row)}")  # fmt: skip


def _clocks(rows: Sequence[Row]) -> Iterator[Problem]:
    for row in rows:
        if row.get("newest_quality") == "unknown":
            yield Problem(row["gateway"], None,
                       "its clock has not been set since it started: times of readings are "
                       "unknown")  # fmt: skip
        elif row.get("untimed_days") or row.get("sensors_untimed"):
            yield Problem(row["gateway"], None, "its clock was not set for a time: times of some "
                       "readings are unknown")  # fmt: skip


def _resets(figures: Figures) -> Iterator[Problem]:
    for row in figures.sensors.resets:
        yield Problem(row["gateway"], row["sensor"],
                   f"{_quantities(row)} fell {_times(row['resets'])}: was it replaced or "
                   "restarted?")  # fmt: skip


def _old_versions(rows: Sequence[Row]) -> Iterator[Problem]:
    parts = {row["gateway"]: _parts(row.get("version")) for row in rows}
    newest = max(parts.values(), default=())
    name = next((row.get("version") for row in rows if parts[row["gateway"]] == newest), "")
    for row in rows:
        if () != parts[row["gateway"]] < newest:
            yield Problem(row["gateway"], None, f"runs {row['version']}; the newest is {name}")


def _parts(version: str | None) -> tuple[int, ...]:
    """Return the integers in a version string as a tuple, so that versions can be compared.

    If there are no integers, the tuple is empty.
    """
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version or "")[:_VERSION_PARTS_MAX])


def _quantities(row: Row) -> str:
    device = row["device"]
    names = sorted(
        name.removeprefix(f"{device}/") if device else name for name in row["names"] if name
    )
    more = len(names) - _NAMES_SHOWN_MAX
    return ", ".join(names[:_NAMES_SHOWN_MAX]) + (f" and {number(more)} more" if more > 0 else "")


def _times(count: float) -> str:
    return "once" if count == 1 else f"{number(count)} times"

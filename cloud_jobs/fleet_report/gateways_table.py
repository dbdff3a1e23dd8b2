"""The fleet page's tables of gateways and sites, with links to the gateways' pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloud_jobs.fleet_report.attention import Group
from cloud_jobs.fleet_report.charts import number
from cloud_jobs.fleet_report.document import GATEWAYS_FOLDER, anchor_of, file_of, text
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.limits import SILENT_SECONDS
from cloud_jobs.fleet_report.names import Names
from cloud_jobs.fleet_report.page_tables import (
    Cell,
    Row,
    age,
    count_cell,
    counted,
    section,
    sortable,
    time_cell,
    when,
)

_NO_SITE = "No site"
_HEAD = ("Gateway", "State", "Last seen", "Version", "Sensors", "Silent", "Readings missing",
         "Events missing", "Not delivered", "Offline|seconds", "Unclean starts",
         "Delivery p99|seconds", "Upload lag|seconds", "Audit")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Links:
    """Links from the fleet's page to gateways' pages. Only gateways in `shown` have a page."""

    names: Names
    shown: frozenset[str]

    def named(self, gateway: str) -> str:
        """Return a gateway's name as HTML. The name is a link if the gateway has a page."""
        return self.to(gateway, None, text(self.names.of_gateway(gateway)))

    def to(self, gateway: str, sensor: str | None, html: str) -> str:
        """Return `html` as a link to a gateway's page, or to a sensor's section on that page."""
        if gateway not in self.shown:
            return html
        part = "" if sensor is None else f"#{anchor_of(sensor)}"
        return f'<a href="{GATEWAYS_FOLDER}/{file_of(gateway)}{part}">{html}</a>'


def gateways_section(figures: Figures, groups: Sequence[Group], links: Links) -> str:
    """Return the section with the table of gateways, grouped by site if sites are defined."""
    marked = {line.gateway: group.level for group in reversed(groups) for line in group.problems}
    by_site = _by_site(figures.gateways, links.names)
    bodies = [
        (f"{text(site)} <small>{counted(len(rows), 'gateway')}</small>" if site else "",
         [_gateway(figures, row, marked.get(row["gateway"], ""), links) for row in rows])
        for site, rows in by_site.items()
    ]  # fmt: skip
    hidden = figures.gateways_count - len(figures.gateways)
    more = f" {hidden:,} calmer ones are not shown and have no page." if hidden > 0 else ""
    search = '<label class="find">Find <input type="search" id="find" autocomplete="off"></label>'
    note = f"{counted(len(figures.gateways), 'gateway')}, those in trouble first.{more}"
    table = sortable(_HEAD, bodies, "gateways", "Gateways")
    return section("Gateways", search + table, name="gateways-section", note=note, csv="gateways")


def sites_section(figures: Figures, groups: Sequence[Group], names: Names) -> str:
    """Return the section with the table of sites, or an empty string if no gateway has a site."""
    if not names.has_sites:
        return ""
    problems = Counter(problem.gateway for group in groups for problem in group.problems)
    rows = [
        (
            (text(site), None),
            (number(len(gateways)), len(gateways)),
            count_cell(sum(_is_silent(figures, row) for row in gateways)),
            count_cell(_total(gateways, "sensors")),
            count_cell(sum(_silent_sensors(figures, row) for row in gateways)),
            count_cell(_total(gateways, "own_missing")),
            count_cell(sum(problems[row["gateway"]] for row in gateways)),
        )
        for site, gateways in _by_site(figures.gateways, names).items()
    ]
    head = ("Site", "Gateways", "Silent gateways", "Sensors", "Silent sensors",
            "Readings missing", "Need attention")  # fmt: skip
    return section("Sites", sortable(head, [("", rows)], "sites", "Sites"), csv="sites")


def _by_site(gateways: Sequence[Row], names: Names) -> Mapping[str, list[Row]]:
    """Return the gateways grouped by site, with the sites in alphabetical order.

    Gateways without a site come last.
    """
    if not names.has_sites:
        return {"": list(gateways)}
    found: dict[str, list[Row]] = {}
    for row in gateways:
        found.setdefault(names.site_of(row["gateway"]) or _NO_SITE, []).append(row)
    return dict(sorted(found.items(), key=lambda item: (item[0] == _NO_SITE, item[0])))


def _total(rows: Sequence[Row], name: str) -> int:
    return sum(row.get(name) or 0 for row in rows)


def _is_silent(figures: Figures, row: Row) -> bool:
    return age(figures.made_at, row.get("last_seen")) > SILENT_SECONDS


def _silent_sensors(figures: Figures, row: Row) -> int:
    """Return the number of a gateway's silent sensors.

    If the gateway itself is silent, return 0, because no readings can arrive from its sensors.
    """
    return 0 if _is_silent(figures, row) else row.get("sensors_silent") or 0


def _gateway(figures: Figures, row: Row, level: str, links: Links) -> tuple[Cell, ...]:
    return (
        (links.named(row["gateway"]), None),
        _state(figures, row, level),
        (when(row.get("last_seen")), None),
        (text(row.get("version")), None),
        count_cell(row.get("sensors")),
        count_cell(_silent_sensors(figures, row)),
        count_cell(row.get("own_missing")),
        count_cell(row["missing"]),
        count_cell(row["messages_dropped"]),
        time_cell(row["offline_seconds"]),
        count_cell(row["unclean_starts"]),
        time_cell((row["delivery_p99_ms"] or 0) / 1000),
        time_cell(row["lag_seconds"]),
        verdict_cell(row),
    )


def _state(figures: Figures, row: Row, level: str) -> Cell:
    if _is_silent(figures, row):
        return ('<span class="badge bad">silent</span>', 3)
    if level == "bad":
        return ('<span class="badge bad">trouble</span>', 2)
    if level:
        return ('<span class="badge attention">attention</span>', 1)
    return ('<span class="badge good">ok</span>', 0)


def verdict_cell(row: Row) -> Cell:
    """Return the table cell with the result of a gateway's audit."""
    if row["violations"]:
        return (f"<b class=bad>{counted(row['violations'], 'violation')}</b>",
                row["violations"] * 1e9)  # fmt: skip
    if row["inconclusive"]:
        return (f'<b class=doubt>{number(row["inconclusive"])} inconclusive</b>',
                row["inconclusive"])  # fmt: skip
    if not row["events"]:
        return ("<span class=zero>no events</span>", 0.5)
    return ("<span class=good>ok</span>", 0)

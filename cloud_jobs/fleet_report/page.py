"""The page about the whole fleet: problems first, then figures, gateways, charts and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from cloud_jobs.fleet_report.attention import Group, Problem, attention_of
from cloud_jobs.fleet_report.charts import duration, number
from cloud_jobs.fleet_report.document import FLEET_PAGE, document, text
from cloud_jobs.fleet_report.fault_tables import (
    gaps_table,
    not_delivered_table,
    quarantine_table,
)
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.fleet_charts import fleet_charts
from cloud_jobs.fleet_report.gateway_page import sentence, tile
from cloud_jobs.fleet_report.gateways_table import Links, gateways_section, sites_section
from cloud_jobs.fleet_report.heat_map import heat_maps
from cloud_jobs.fleet_report.limits import LINES_MAX, LINES_SHOWN_MAX
from cloud_jobs.fleet_report.names import NO_NAMES, Names
from cloud_jobs.fleet_report.page_tables import age, counted, section, when
from cloud_jobs.fleet_report.sensors import SILENCE_RULE

Row = Mapping[str, Any]
_AGES = ((3_600, "within an hour"), (86_400, "within a day"), (604_800, "within a week"),
         (2_592_000, "within 30 days"), (float("inf"), "longer ago"))  # fmt: skip
_RULES: Final = {"silent-sensors": f'<p class="aside rule">{SILENCE_RULE}</p>'}
_OLD_TABLES: Final = (
    '<p class="empty">These tables have no sensors: they are of an earlier version. Run '
    "<code>oncegate gold</code>, then this report again.</p>"
)


def page_of(figures: Figures, names: Names = NO_NAMES) -> str:
    """Return the fleet's page as an HTML document."""
    shown = [row["gateway"] for row in figures.gateways]
    links = Links(names, frozenset(shown))
    groups = attention_of(figures)
    body = (
        _headline(figures, groups)
        + _tiles(figures)
        + ("" if figures.has_sensors else _OLD_TABLES)
        + _attention(groups, links)
        + sites_section(figures, groups, names)
        + gateways_section(figures, groups, links)
        + _plots(figures)
        + _map_section(figures, names)
        + section("Last seen and version", _fleet_map(figures, names))
        + not_delivered_table(figures.not_delivered, links.named)
        + gaps_table(figures.gaps, figures.gaps_count, links.named)
        + quarantine_table(figures.quarantine)
    )
    note = f"{figures.made_at:%Y-%m-%d %H:%M} UTC"
    return document(f"Oncegate fleet, {figures.days[-1]}", body, home=FLEET_PAGE,
                    crumb="Fleet report", note=note)  # fmt: skip


def _total(figures: Figures, name: str) -> float:
    return sum(row[name] or 0 for row in figures.fleet.values())


def _headline(figures: Figures, groups: Sequence[Group]) -> str:
    violations, doubts = _total(figures, "violations"), _total(figures, "inconclusive")
    level, delivery = (
        ("bad", f"{counted(violations, 'violation')}: a promise was broken")
        if violations
        else ("doubt", f"No violation; {counted(doubts, 'finding')} inconclusive")
        if doubts
        else ("doubt", _not_delivered(figures))
        if _lost(figures)
        else ("good", f"Every message accounted for{_expired(figures)}")
        if _total(figures, "ok")
        else ("doubt", "Not audited yet")
    )
    colour = "bad" if any(group.level == "bad" for group in groups) else "attention"
    first, last = figures.days[0], figures.days[-1]
    days = f"{first} to {last}" if first != last else f"{last}"
    return (
        f'<section class="verdict {colour if groups else ""}"><h1>{_summary(groups)}</h1>'
        f'<p class="delivery {level}">{delivery}</p><p>{days}, batch {figures.through_batch:,} of '
        f'<span class="mono">{escape(figures.tables_root)}</span></p></section>'
    )


def _summary(groups: Sequence[Group]) -> str:
    """Return a sentence with the number of gateways and sensors that need attention."""
    problems = [problem for group in groups for problem in group.problems]
    gateways = len({problem.gateway for problem in problems if problem.sensor is None})
    named = len({(one.gateway, one.sensor) for one in problems if one.sensor is not None})
    unread = (
        group.count for group in groups if group.problems and group.problems[0].sensor is not None
    )
    sensors = max(named, *unread, 0)
    parts = [counted(count, noun)
             for count, noun in ((gateways, "gateway"), (sensors, "sensor")) if count]  # fmt: skip
    if not parts:
        return "All is well"
    verb = "needs" if gateways + sensors == 1 else "need"
    return f"{' and '.join(parts)} {verb} attention"


def _tiles(figures: Figures) -> str:
    rows = figures.gateways
    silent = figures.sensors.silent_count
    missing = sum(row.get("own_missing") or 0 for row in rows)
    sensors = (
        ("Sensors", number(sum(row.get("sensors") or 0 for row in rows)), 0),
        ("Silent sensors", number(silent), silent),
        ("Readings missing", number(missing), missing),
    ) if figures.has_sensors else ()  # fmt: skip
    tiles = (
        ("Gateways", number(figures.gateways_count), 0),
        ("Silent for a day", number(figures.silent_count), figures.silent_count),
        *sensors,
        ("Messages at QoS 2", number(_total(figures, "messages")), 0),
        ("Repeats suppressed", number(_total(figures, "duplicates")), 0),
        ("Not delivered", number(_lost(figures)), _lost(figures)),
        ("Events missing", number(_total(figures, "missing")), _total(figures, "missing")),
        ("Offline, all gateways", duration(_total(figures, "offline_seconds")), 0),
    )
    return f'<dl class="tiles">{"".join(tile(*each) for each in tiles)}</dl>'


def _lost(figures: Figures) -> float:
    """Return the number of messages that were not delivered to sessions.

    Messages that expired are not counted.
    """
    return _total(figures, "messages_dropped") + figures.discarded_count


def _not_delivered(figures: Figures) -> str:
    gateways = len({row["gateway"] for row in figures.not_delivered if row["reason"] != "expired"})
    where = "" if gateways == 0 else f" at {counted(gateways, 'gateway')}"
    return f"{counted(_lost(figures), 'message')} not delivered{where}: see below"


def _expired(figures: Figures) -> str:
    expired = _total(figures, "messages_expired")
    return f"; {number(expired)} expired before delivery" if expired else ""


def _attention(groups: Sequence[Group], links: Links) -> str:
    if not groups:
        return ""
    drawn = "".join(
        f'<div class="card kind {group.level}" id="{group.kind}"><h3>{group.title} '
        f'<span class="badge {group.level}">{number(group.count)}</span></h3>'
        f"{_lines(group, links)}{_RULES.get(group.kind, '')}</div>"
        for group in groups
    )
    return section("Needs attention", f'<div class="kinds">{drawn}</div>', name="attention")


def _lines(group: Group, links: Links) -> str:
    items = [f"<li>{_line(line, links)}</li>" for line in group.problems[:LINES_MAX]]
    shown, folded = items[:LINES_SHOWN_MAX], items[LINES_SHOWN_MAX:]
    beyond = group.count - len(items)
    last = f"<li>{beyond:,} more, not listed</li>" if beyond > 0 else ""
    rest = f"<ul>{''.join(folded)}{last}</ul>"
    more = (f"<details><summary>{group.count - len(shown):,} more</summary>{rest}</details>"
            if folded or last else "")  # fmt: skip
    return f"<ul>{''.join(shown)}</ul>{more}"


def _line(line: Problem, links: Links) -> str:
    gateway = text(links.names.of_gateway(line.gateway))
    site = links.names.site_of(line.gateway)
    where = f' <span class="aside">{text(site)}</span>' if site else ""
    name = f"<bdi>{gateway}</bdi>"
    if line.sensor is not None:
        sensor = text(links.names.of_sensor(line.gateway, line.sensor))
        name = f"<bdi>{sensor}</bdi> at {name}"
    return f"{links.to(line.gateway, line.sensor, name)}{where}<br>{sentence(line.text)}"


def _plots(figures: Figures) -> str:
    plots = fleet_charts(figures)
    return section("The fleet by day", f'<div class="charts">{plots}</div>') if plots else ""


def _map_section(figures: Figures, names: Names) -> str:
    gateways = [row["gateway"] for row in figures.gateways]
    if not gateways:
        return '<p class="empty">No gateway.</p>'
    shown = [names.of_gateway(gateway) for gateway in gateways]
    drawn = heat_maps(gateways, figures.days, figures.cells, shown)
    return section("Each gateway by day", drawn, note="Those in trouble first.")


def _fleet_map(figures: Figures, names: Names) -> str:
    """Return a map of the fleet as HTML, with one square per gateway, grouped by software version.

    The colour of a square shows the time since the gateway's last event.
    """
    legend = "".join(f'<li class="age{n}">{text}</li>' for n, (_, text) in enumerate(_AGES))
    groups: dict[str, list[Row]] = {}
    for row in figures.gateways:
        groups.setdefault(row.get("version") or "", []).append(row)
    totals = {row["version"] or "": row["gateways"] for row in figures.versions}
    drawn = ""
    for version, rows in sorted(groups.items(), key=lambda item: -len(item[1])):
        squares = "".join(
            f'<i class="age{_age_level(figures, row)}" title="{_name(names, row)}, '
            f'last seen {when(row.get("last_seen"))}"></i>'
            for row in sorted(rows, key=lambda row: (_age(figures, row), row["gateway"]))
        )
        name = text(version) if version else "version not known"
        count = max(totals.get(version, 0), len(rows))
        drawn += f"<h3>{name} <small>{counted(count, 'gateway')}</small></h3>"
        drawn += f"<div class=fleet>{squares}</div>"
    return f'<div class="card"><ul class="levels">{legend}</ul>{drawn}</div>'


def _age_level(figures: Figures, row: Row) -> int:
    silent = _age(figures, row)
    return next((n for n, (seconds, _) in enumerate(_AGES) if silent < seconds), len(_AGES) - 1)


def _age(figures: Figures, row: Row) -> float:
    return age(figures.made_at, row.get("last_seen"))


def _name(names: Names, row: Row) -> str:
    return text(names.of_gateway(row["gateway"]))

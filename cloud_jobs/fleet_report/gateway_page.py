"""The page of a gateway: sensors with curves of their readings, days, gaps and lost messages."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloud_jobs.fleet_report.attention import Group, Problem
from cloud_jobs.fleet_report.charts import duration, number
from cloud_jobs.fleet_report.curves import QUARTER_SECONDS, Packed
from cloud_jobs.fleet_report.document import FLEET_PAGE, anchor_of, document, text
from cloud_jobs.fleet_report.fault_tables import gaps_table, not_delivered_table
from cloud_jobs.fleet_report.gateways_table import verdict_cell
from cloud_jobs.fleet_report.limits import LINE_CHARACTERS_MAX
from cloud_jobs.fleet_report.names import Names
from cloud_jobs.fleet_report.page_tables import (
    Cell,
    Row,
    count_cell,
    counted,
    section,
    sortable,
    time_cell,
    when,
)
from cloud_jobs.fleet_report.sensors import SILENCE_RULE, Series
from cloud_jobs.fleet_report.units import symbol_of, value_of

_HOME = f"../{FLEET_PAGE}"
_QUANTITIES = ("Quantity", "Last value", "Last reading", "Lowest", "Mean", "Highest", "Increase",
               "Every|seconds", "Missing", "Repeats", "Resets", "Times")  # fmt: skip
_DAYS = ("Day", "Events", "Starts", "Offline|seconds", "Messages", "Not delivered",
         "Events missing", "Readings missing", "Audit")  # fmt: skip


@dataclass(frozen=True, slots=True)
class GatewayPage:
    """Data shown on a gateway's page."""

    row: Row
    cells: Sequence[Row]
    """One row per day, oldest first."""
    series: Sequence[Series]
    curves: Packed | None
    problems: Sequence[tuple[Group, Problem]]
    gaps: Sequence[Row]
    not_delivered: Sequence[Row]
    names: Names
    made_at: datetime.datetime
    has_sensors: bool

    @property
    def gateway(self) -> str:
        """The gateway's id."""
        return str(self.row["gateway"])


def gateway_page_of(page: GatewayPage) -> str:
    """Return a gateway's page as an HTML document."""
    name = page.names.of_gateway(page.gateway)
    body = (
        f'<p class="back"><a href="{_HOME}">All gateways</a></p>'
        + _headline(page, name)
        + _tiles(page)
        + _sensors(page)
        + _days(page)
        + not_delivered_table(page.not_delivered, None)
        + gaps_table(page.gaps, page.gaps[0]["of_gateway"] if page.gaps else 0, None)
    )
    crumb = f"<bdi>{text(name)}</bdi>"
    return document(f"{name} · Oncegate", body, home=_HOME, crumb=crumb,
                    note=f"{page.made_at:%Y-%m-%d %H:%M} UTC")  # fmt: skip


def _headline(page: GatewayPage, name: str) -> str:
    levels = {group.level for group, _ in page.problems}
    level = "bad" if "bad" in levels else "attention" if levels else ""
    site = page.names.site_of(page.gateway)
    facts = [
        f'<span class="mono">{text(page.gateway)}</span>' if name != page.gateway else "",
        text(site) if site else "",
        f"last seen {when(page.row.get('last_seen'))} UTC",
        f"version {text(page.row['version'])}" if page.row.get("version") else "",
    ]
    notices = "".join(
        f'<li class="{group.level}">{_line(page, line)}</li>' for group, line in page.problems
    )
    listed = f'<ul class="notices">{notices}</ul>' if notices else ""
    return (
        f'<section class="verdict rest {level}"><h1><bdi>{text(name)}</bdi></h1>'
        f"<p>{' · '.join(fact for fact in facts if fact)}</p>{listed}</section>"
    )


def _line(page: GatewayPage, line: Problem) -> str:
    if line.sensor is None:
        return sentence(line.text)
    shown = text(page.names.of_sensor(page.gateway, line.sensor))
    return (
        f'<a href="#{anchor_of(line.sensor)}">{shown}</a>: {text(line.text, LINE_CHARACTERS_MAX)}'
    )


def sentence(plain: str) -> str:
    """Return plain text as HTML, with a capital first letter."""
    return text(plain[:1].upper() + plain[1:], LINE_CHARACTERS_MAX)


def _tiles(page: GatewayPage) -> str:
    row = page.row
    silent = row.get("sensors_silent") or 0
    tiles = (
        ("Sensors", number(row.get("sensors") or 0), 0),
        ("Silent sensors", number(silent), silent),
        ("Readings", number(row.get("readings") or 0), 0),
        ("Readings missing", number(row.get("own_missing") or 0), row.get("own_missing")),
        ("Messages at QoS 2", number(row["messages"]), 0),
        ("Not delivered", number(row["messages_dropped"]), row["messages_dropped"]),
        ("Events missing", number(row["missing"]), row["missing"]),
        ("Offline", duration(row["offline_seconds"]), 0),
    )
    first = 0 if page.has_sensors else 4
    return f'<dl class="tiles rest">{"".join(tile(*each) for each in tiles[first:])}</dl>'


def tile(name: str, value: str, warning: object) -> str:
    """Return an HTML tile with a name and a value. If `warning` is true, the tile is amber."""
    kind = "fact attention" if warning else "fact"
    return f'<div class="{kind}"><dt>{name}</dt><dd>{value}</dd></div>'


def _sensors(page: GatewayPage) -> str:
    heading = '<div class="heading" id="sensors"><h2>Sensors</h2>'
    if not page.has_sensors:
        return (f'<section>{heading}</div><p class="empty">These tables have no sensors yet: run '
                "<code>oncegate gold</code>, then this report again.</p></section>")  # fmt: skip
    if not page.series:
        return (f'<section>{heading}</div><p class="empty">No readings on these days.</p>'
                "</section>")  # fmt: skip
    hidden = (page.row.get("series") or 0) - len(page.series)
    more = f" {hidden:,} calmer quantities are not shown." if hidden > 0 else ""
    drawn = "".join(_sensor(page, sensor, found) for sensor, found in _by_sensor(page.series))
    return (
        f'<section>{heading}<p class="rest">{SILENCE_RULE}{more}</p>'
        '<p class="all"><a href="#sensors">All sensors of this gateway</a></p></div>'
        f"{_index(page)}{_tools(page)}{drawn}"
        "<noscript><p>The curves need JavaScript; the tables do not.</p></noscript></section>"
        f"{_data(page)}"
    )


def _by_sensor(series: Sequence[Series]) -> Iterator[tuple[str, list[tuple[int, Series]]]]:
    """Yield each sensor with its series. Each series is paired with its index in `series`."""
    numbered = sorted(enumerate(series), key=lambda item: (item[1].sensor, item[1].name))
    for sensor, found in itertools.groupby(numbered, key=lambda item: item[1].sensor):
        yield sensor, list(found)


def _index(page: GatewayPage) -> str:
    """Return links to the sensors, each coloured by the sensor's state."""
    links = "".join(
        f'<li><a class="badge {"attention" if _is_silent(found) else "good"}" '
        f'href="#{anchor_of(sensor)}">{text(page.names.of_sensor(page.gateway, sensor))}</a></li>'
        for sensor, found in _by_sensor(page.series)
    )
    return f'<ul class="index rest" aria-label="Sensors">{links}</ul>'


def _tools(page: GatewayPage) -> str:
    quarters = page.curves["quarters"][1] if page.curves else 0
    days = page.curves["days"][1] if page.curves else 0
    hours = duration(quarters * QUARTER_SECONDS)
    switch = "".join(
        f'<label><input type="radio" name="range" value="{value}"{checked}><span>{name}</span>'
        "</label>"
        for value, name, checked, is_there in (
            ("d", counted(days, "day"), " checked" if days > 2 else "", days),
            ("q", f"Last {hours}, by quarter of an hour", "" if days > 2 else " checked", quarters),
        )
        if is_there
    )
    return (
        f'<div class="tools"><fieldset class="switch"><legend>Curves</legend>{switch}</fieldset>'
        '<span class="saves"><button class="csv" data-quantities>CSV of this list</button>'
        '<button class="csv" data-curves="d">CSV by day</button>'
        '<button class="csv" data-curves="q">CSV by quarter of an hour</button></span></div>'
    )


def _is_silent(found: Sequence[tuple[int, Series]]) -> bool:
    return any(each.is_silent for _, each in found)


def _sensor(page: GatewayPage, sensor: str, found: Sequence[tuple[int, Series]]) -> str:
    name = page.names.of_sensor(page.gateway, sensor)
    anchor = anchor_of(sensor)
    badge = ('<span class="badge attention">silent</span>' if _is_silent(found)
             else '<span class="badge good">sending</span>')  # fmt: skip
    site = page.names.site_of(page.gateway, sensor)
    own = f'<span class="mono aside">{text(sensor)}</span>' if name != sensor else ""
    where = (f'<span class="aside">{text(site)}</span>'
             if site != page.names.site_of(page.gateway) else "")  # fmt: skip
    table = sortable(_QUANTITIES, [("", [_quantity(each) for _, each in found])],
                     f"{anchor}-quantities", "Quantities")  # fmt: skip
    figures = "".join(
        f'<figure class="card curve" data-n="{place}"></figure>'
        for place, each in found
        if each.mean is not None
    )
    return (
        f'<section class="sensor" id="{anchor}"><div class="heading"><h3><a href="#{anchor}">'
        f"<bdi>{text(name)}</bdi></a></h3>{badge}{own}{where}</div>{table}"
        f'<div class="curves">{figures}</div></section>'
    )


def _quantity(series: Series) -> tuple[Cell, ...]:
    unit = text(symbol_of(series.unit))
    last = text(series.last_text) if series.last is None else value_of(series.last)
    usual = duration(series.usual) if series.usual else "-"
    quality = ("<span class=zero>ok</span>" if series.time_quality == "synchronised"
               else f"<b class=doubt>{series.time_quality}</b>")  # fmt: skip
    silent = "<b class=doubt>{}</b>" if series.is_silent else "{}"
    return (
        (text(series.quantity), None),
        (f"<b>{last}</b> <small>{unit}</small>", series.last),
        (silent.format(when(series.last_time)), None),
        (value_of(series.minimum), series.minimum),
        (value_of(series.mean), series.mean),
        (value_of(series.maximum), series.maximum),
        (value_of(series.increase), series.increase),
        (usual, series.usual),
        count_cell(series.missing),
        count_cell(series.repeats),
        count_cell(series.resets) if series.increase is not None else ("-", None),
        (quality, None),
    )


def _data(page: GatewayPage) -> str:
    """Return a script element that contains the curves as data for the page's script.

    `<` is escaped, so that a name cannot end the script element.
    """
    if page.curves is None:
        return ""
    packed = json.dumps(page.curves, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="curves">{packed}</script>'


def _days(page: GatewayPage) -> str:
    if not page.cells:
        return ""
    rows = [
        (
            (f"{row['day']}", None),
            count_cell(row["events"]),
            count_cell(row["starts"]),
            time_cell(row["offline_seconds"]),
            count_cell(row["messages"]),
            count_cell(row["messages_dropped"]),
            count_cell(row["missing"]),
            count_cell(row["readings_missing"]),
            verdict_cell(row) if row["verdict"] else ("<span class=zero>-</span>", -1),
        )
        for row in reversed(page.cells)
    ]
    table = sortable(_DAYS, [("", rows)], "days", "Days")
    return section("The gateway by day", table, name="days-section", csv="days")

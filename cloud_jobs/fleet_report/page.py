"""The page: one HTML document that loads nothing, with the plots first and the tables below."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from cloud_jobs.fleet_report.charts import Series, chart, duration, number
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.heat_map import heat_maps
from cloud_jobs.fleet_report.page_tables import (
    age,
    counted,
    gaps_table,
    gateways_table,
    not_delivered_table,
    quarantine_table,
    text,
    when,
)

Row = Mapping[str, Any]
_AGES = ((3_600, "within an hour"), (86_400, "within a day"), (604_800, "within a week"),
         (2_592_000, "within 30 days"), (float("inf"), "longer ago"))  # fmt: skip


def page_of(figures: Figures) -> str:
    """Return the document's text."""
    assets = files("cloud_jobs.fleet_report") / "assets"
    style = (assets / "report.css").read_text()
    script = (assets / "report.js").read_text()
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    names = [row["gateway"] for row in figures.gateways]
    body = (
        _headline(figures)
        + "<section><h2>The fleet by day</h2>"
        + f"<div class='charts'>{_charts(figures)}</div></section>"
        + "<section><h2>Each gateway by day</h2>"
        + _note(figures)
        + (heat_maps(names, figures.days, figures.cells) if names else "<p>No gateway.</p>")
        + "</section>"
        + f"<section><h2>Last seen and version</h2>{_fleet_map(figures)}</section>"
        + f"<section><h2>Gateways</h2>{gateways_table(figures)}</section>"
        + not_delivered_table(figures)
        + gaps_table(figures)
        + quarantine_table(figures)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Oncegate fleet, {figures.days[-1]}</title><style>{style}</style></head>"
        f"<body>{body}<script>{script}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _total(figures: Figures, name: str) -> float:
    return sum(row[name] or 0 for row in figures.fleet.values())


def _headline(figures: Figures) -> str:
    violations, doubts = _total(figures, "violations"), _total(figures, "inconclusive")
    missing, offline = _total(figures, "missing"), _total(figures, "offline_seconds")
    verdict = (
        ("bad", f"{counted(violations, 'violation')}: a promise was broken")
        if violations
        else ("doubt", f"no violation; {counted(doubts, 'finding')} inconclusive")
        if doubts
        else ("doubt", _not_delivered(figures))
        if _lost(figures)
        else ("good", f"every message accounted for{_expired(figures)}")
        if _total(figures, "ok")
        else ("doubt", "not audited yet")
    )
    silent = figures.silent_count
    away = {row["state"]: row["sessions"] for row in figures.sessions}
    tiles = (
        ("gateways", number(figures.gateways_count), f"{silent:,} silent for a day", silent),
        ("messages at QoS 2", number(_total(figures, "messages")),
         f"{number(_total(figures, 'duplicates'))} repeats suppressed", 0),
        ("deliveries at QoS 2", number(_total(figures, "completed")),
         f"{counted(_lost(figures), 'message')} not delivered", _lost(figures)),
        ("sessions", number(sum(away.values())),
         f"{number(away.get('connected', 0))} connected", 0),
        ("offline", duration(offline), "of all gateways together", 0),
        ("gaps", number(figures.gaps_count), f"{number(missing)} events missing on these days",
         figures.gaps_count),
    )  # fmt: skip
    drawn = "".join(
        f"<li{' class=warn' if is_warning else ''}><span>{name}</span><b>{value}</b>"
        f"<small>{note}</small></li>"
        for name, value, note, is_warning in tiles
    )
    return (
        f"<header><h1>Oncegate fleet</h1><p>{figures.days[0]} to {figures.days[-1]}, "
        f"made {figures.made_at:%Y-%m-%d %H:%M} UTC from batch {figures.through_batch:,} of "
        f"{escape(figures.tables_root)}</p>"
        f'<p class="verdict {verdict[0]}">{verdict[1]}</p><ul class="tiles">{drawn}</ul></header>'
    )


def _lost(figures: Figures) -> float:
    """Return how many messages sessions did not get, those aside that expired."""
    return _total(figures, "messages_dropped") + figures.discarded_count


def _not_delivered(figures: Figures) -> str:
    gateways = len({row["gateway"] for row in figures.not_delivered if row["reason"] != "expired"})
    where = "" if gateways == 0 else f" at {counted(gateways, 'gateway')}"
    return f"{counted(_lost(figures), 'message')} not delivered{where}: see below"


def _expired(figures: Figures) -> str:
    expired = _total(figures, "messages_expired")
    return f"; {number(expired)} expired before delivery" if expired else ""


def _charts(figures: Figures) -> str:
    labels = [f"{day:%d %b}" for day in figures.days]

    def series(name: str, style: str, column: str, factor: float = 1.0) -> Series:
        rows = (figures.fleet.get(day) for day in figures.days)
        return Series(name, style, [None if row is None or row[column] is None
                                    else row[column] * factor for row in rows])  # fmt: skip

    def drawn(title: str, parts: tuple[Series, ...], *, unit: str = "", bars: bool = False) -> str:
        has_any = any(value for part in parts for value in part.values)
        return chart(title, parts, labels, unit=unit, is_stacked=bars) if has_any else ""

    def bars(title: str, *parts: Series, unit: str = "") -> str:
        return drawn(title, parts, unit=unit, bars=True)

    def lines(title: str, column: str, factor: float = 1e-3) -> str:
        median, tail = f"{column}_p50_ms", f"{column}_p99_ms"
        parts = (series("worst gateway, p99", "c3", f"{tail}_worst", factor),
                 series("median gateway, p99", "c2", tail, factor),
                 series("median gateway, p50", "c1", median, factor))  # fmt: skip
        return drawn(title, parts, unit="s")

    return (
        bars("Messages received at QoS 2", series("released once", "c1", "released"),
             series("abandoned", "c3", "abandoned"))
        + bars("Deliveries", series("completed", "c1", "completed"),
               series("resent", "c2", "resent"), series("dropped", "c3", "dropped"))
        + lines("From PUBLISH to PUBREL", "hold")
        + lines("From queue to PUBCOMP", "delivery")
        + bars("Sessions", series("opened", "c1", "sessions_opened"),
               series("resumed", "c2", "sessions_resumed"), series("lost", "c3", "sessions_lost"))
        + bars("Offline, all gateways", series("offline", "c3", "offline_seconds"), unit="s")
        + drawn("Upload lag", (series("worst gateway", "c3", "lag_max_seconds_worst"),
                               series("median gateway", "c1", "lag_p50_seconds")), unit="s")
        + bars("Missing", series("events of gateways", "c3", "missing"),
               series("readings of sensors", "c2", "readings_missing"))
        + bars("Audit, gateways", series("ok", "c1", "ok"),
               series("inconclusive", "c2", "doubtful"), series("violation", "c3", "violating"))
    )  # fmt: skip


def _note(figures: Figures) -> str:
    hidden = figures.gateways_count - len(figures.gateways)
    more = f"; {hidden:,} calmer ones are not shown" if hidden > 0 else ""
    return f"<p>{counted(len(figures.gateways), 'gateway')}, those in trouble first{more}.</p>"


def _fleet_map(figures: Figures) -> str:
    """One square a gateway, in groups by version, coloured by how long it has been silent."""
    legend = "".join(f'<li class="age{n}">{text}</li>' for n, (_, text) in enumerate(_AGES))
    groups: dict[str, list[Row]] = {}
    for row in figures.gateways:
        groups.setdefault(row.get("version") or "", []).append(row)
    totals = {row["version"] or "": row["gateways"] for row in figures.versions}
    drawn = ""
    for version, rows in sorted(groups.items(), key=lambda item: -len(item[1])):
        squares = "".join(
            f'<i class="age{_age_level(figures, row)}" title="{text(row["gateway"])}, '
            f'last seen {when(row.get("last_seen"))}"></i>'
            for row in sorted(rows, key=lambda row: (age(figures, row), row["gateway"]))
        )
        name = text(version) if version else "version not known"
        count = max(totals.get(version, 0), len(rows))
        drawn += f"<h3>{name} <small>{counted(count, 'gateway')}</small></h3>"
        drawn += f"<div class=fleet>{squares}</div>"
    return f'<ul class="levels">{legend}</ul>{drawn}'


def _age_level(figures: Figures, row: Row) -> int:
    silent = age(figures, row)
    return next((n for n, (seconds, _) in enumerate(_AGES) if silent < seconds), len(_AGES) - 1)

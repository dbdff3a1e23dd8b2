"""The page's tables, which can be sorted, and the words that they share with its plots."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from cloud_jobs.fleet_report.charts import duration, number
from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_MAX, NAME_CHARACTERS_WIDE

Row = Mapping[str, Any]


def text(value: object) -> str:
    return escape(str(value)[:NAME_CHARACTERS_MAX]) if value is not None else "-"


def counted(count: float, noun: str) -> str:
    return f"{number(count)} {noun}" + ("" if count == 1 else "s")


def age(figures: Figures, row: Row) -> float:
    """Return seconds since the gateway's last event; a clock ahead of ours makes none."""
    seen: datetime.datetime | None = row.get("last_seen")
    return max((figures.made_at - seen).total_seconds(), 0) if seen else float("inf")


def when(seen: datetime.datetime | None) -> str:
    return f"{seen:%Y-%m-%d %H:%M}" if seen else "never"


def _table(head: Sequence[str], rows: Sequence[Sequence[tuple[str, object]]], name: str) -> str:
    """Return a table that can be sorted: each cell is its text and the value it sorts by."""
    heads = "".join(f'<th scope="col"><button>{text}</button></th>' for text in head)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_sort(value)}>{text}</td>"
            if index
            else f'<th scope="row"{_whole(text)}>{text}</th>'
            for index, (text, value) in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table id="{name}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _whole(name: str) -> str:
    """Return what shows the whole of a name that its column cuts off."""
    return f' title="{name}"' if len(name) > NAME_CHARACTERS_WIDE else ""


def _sort(value: object) -> str:
    return f' data-v="{value}"' if isinstance(value, int | float) else ""


def _verdict(row: Row) -> tuple[str, object]:
    if row["violations"]:
        return (f"<b class=bad>{counted(row['violations'], 'violation')}</b>",
                row["violations"] * 1e9)  # fmt: skip
    if row["inconclusive"]:
        return (f'<b class=doubt>{number(row["inconclusive"])} inconclusive</b>',
                row["inconclusive"])  # fmt: skip
    if not row["events"]:
        return ("<b class=doubt>silent</b>", 0.5)
    return ("<span class=good>ok</span>", 0)


def gateways_table(figures: Figures) -> str:
    head = ("Gateway", "Last seen", "Version", "Messages", "Delivered", "p99", "Sessions lost",
            "Unclean starts", "Offline", "Lag", "Missing", "Dropped", "Audit")  # fmt: skip

    def count(row: Row, name: str) -> tuple[str, object]:
        value = row[name] or 0
        return (number(value) if value else "<span class=zero>0</span>", value)

    def time(value: float | None) -> tuple[str, object]:
        return (duration(value) if value else "<span class=zero>-</span>", value or 0)

    rows = [
        (
            (text(row["gateway"]), None),
            (when(row.get("last_seen")), -age(figures, row)),
            (text(row.get("version")), None),
            count(row, "messages"),
            count(row, "completed"),
            time((row["delivery_p99_ms"] or 0) / 1000),
            count(row, "sessions_lost"),
            count(row, "unclean_starts"),
            time(row["offline_seconds"]),
            time(row["lag_seconds"]),
            count(row, "missing"),
            count(row, "messages_dropped"),
            _verdict(row),
        )
        for row in figures.gateways
    ]
    search = '<p><label>Find <input type="search" id="find" autocomplete="off"></label></p>'
    return search + _table(head, rows, "gateways")


REASONS = {
    "queue_full": "its queue was full: raise max_mqueue_len, or let it read more often",
    "queue_bytes": "its queue was full: raise max_mqueue_bytes, or let it read more often",
    "displaced": "its queue was full, and newer messages took the place of older ones",
    "too_large": "larger than the packets that the client takes",
    "expired": "expired before delivery, as its publisher asked",
    "refused": "access rules forbid the client this topic",
    "contents_lost": "its contents were lost when the gateway's disk was damaged",
    "session dropped": "an operator deleted the session",
    "session expired": "the session expired before the client came back",
}
"""Reasons for a message that was not delivered, in words for an operator."""


def not_delivered_table(figures: Figures) -> str:
    if not figures.not_delivered:
        return ""
    rows = [
        (
            (text(row["gateway"]), None),
            (text(row["client_id"]), None),
            (text(row["topic"]), None),
            (number(row["messages"]), row["messages"]),
            (text(row["day"]), None),
            (escape(REASONS.get(row["reason"], row["reason"] or "")), None),
        )
        for row in figures.not_delivered
    ]
    head = ("Gateway", "Client", "Topic", "Messages", "Last day", "Why")
    table = _table(head, rows, "not-delivered")
    return f"<section><h2>Messages not delivered</h2>{table}</section>"


def gaps_table(figures: Figures) -> str:
    if not figures.gaps:
        return ""
    rows = [
        (
            (text(row["gateway"]), None),
            (text(row["kind"]), None),
            _segment(row["segment"]),
            (number(row["missing"]) if row["missing"] else "-", row["missing"] or 0),
            (text(row["day"]), None),
            (escape(str(row["detail"])[:300]), None),
        )
        for row in figures.gaps
    ]
    head = ("Gateway", "Kind", "Before segment", "Missing", "Day", "Why")
    more = f"; the largest {len(rows):,} are here" if figures.gaps_count > len(rows) else ""
    note = f"<p>{counted(figures.gaps_count, 'gap')} now{more}.</p>"
    return f"<section><h2>Gaps</h2>{note}{_table(head, rows, 'gaps')}</section>"


def _segment(segment: int | None) -> tuple[str, object]:
    """Return the segment behind a gap; a gap in a sensor's own numbers has none."""
    return ("-", -1) if segment is None else (f"{segment:,}", segment)


def quarantine_table(figures: Figures) -> str:
    if not figures.quarantine:
        return ""
    rows = [
        (
            (text(row["kind"]), None),
            (text(row["reason"]), None),
            (number(row["refusals"]), row["refusals"]),
            (number(row["gateways"]), row["gateways"]),
        )
        for row in figures.quarantine
    ]
    head = ("What", "Reason", "Refusals", "Gateways")
    return f"<section><h2>Quarantine</h2>{_table(head, rows, 'quarantine')}</section>"

"""HTML tables of failures: messages not delivered, gaps, and data refused by ingestion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from cloud_jobs.fleet_report.charts import number
from cloud_jobs.fleet_report.document import text
from cloud_jobs.fleet_report.page_tables import (
    REASONS,
    Cell,
    Row,
    counted,
    section,
    sortable,
)

_DETAIL_CHARACTERS_MAX = 300
Namer = Callable[[str], str]
"""Function that returns a gateway's name as HTML. On the fleet's page, the name is a link."""


def not_delivered_table(rows: Sequence[Row], format_name: Namer | None) -> str:
    """Return the table of messages that were not delivered to sessions.

    `format_name` returns a gateway's name as HTML. If it is None, the table has no column for the
    gateway. A gateway's own page does not need this column.
    """
    cells = [
        (
            *_gateway(row, format_name),
            (text(row["client_id"]), None),
            (text(row["topic"]), None),
            (number(row["messages"]), row["messages"]),
            (text(row["day"]), None),
            (escape(REASONS.get(row["reason"], row["reason"] or "")), None),
        )
        for row in rows
    ]
    head = _head(format_name, "Client", "Topic", "Messages", "Last day", "Why")
    return _section("Messages not delivered", "not-delivered", head, cells)


def gaps_table(rows: Sequence[Row], count: int, format_name: Namer | None) -> str:
    """Return the table of the largest gaps. `count` is the total number of gaps.

    `format_name` returns a gateway's name as HTML. If it is None, the table has no column for the
    gateway. A gateway's own page does not need this column.
    """
    cells = [
        (
            *_gateway(row, format_name),
            (_KINDS.get(row["kind"], text(row["kind"])), None),
            _segment(row["segment"]),
            (number(row["missing"]) if row["missing"] else "-", row["missing"] or 0),
            (text(row["day"]), None),
            (escape(str(row["detail"])[:_DETAIL_CHARACTERS_MAX]), None),
        )
        for row in rows
    ]
    more = f"; the largest {len(rows):,} are shown" if count > len(rows) else ""
    head = _head(format_name, "Kind", "Before segment", "Missing", "Day", "Why")
    note = f"{counted(count, 'gap')} now{more}."
    return _section("Gaps", "gaps", head, cells, note)


_KINDS = {
    "sequence": "events missing",
    "chain": "another segment",
    "unread": "unreadable file",
    "sensor": "sensor readings",
}
"""Names of the kinds of gaps, for an operator."""


def quarantine_table(rows: Sequence[Row]) -> str:
    """Return the table of reasons why ingestion refused segments, lines and readings."""
    cells = [
        (
            (text(row["kind"]), None),
            (text(row["reason"]), None),
            (number(row["refusals"]), row["refusals"]),
            (number(row["gateways"]), row["gateways"]),
        )
        for row in rows
    ]
    head = ("What", "Reason", "Refusals", "Gateways")
    return _section("Quarantine", "quarantine", head, cells, "Refused by ingestion.")


def _section(
    title: str,
    name: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    note: str = "",
) -> str:
    if not rows:
        return ""
    table = sortable(head, [("", rows)], name, title)
    return section(title, table, name=f"{name}-section", note=note, csv=name)


def _head(format_name: Namer | None, *columns: str) -> tuple[str, ...]:
    return columns if format_name is None else ("Gateway", *columns)


def _gateway(row: Row, format_name: Namer | None) -> tuple[Cell, ...]:
    return () if format_name is None else ((format_name(row["gateway"]), None),)


def _segment(segment: int | None) -> Cell:
    """Return the table cell with the number of the first segment after a gap.

    If readings of a sensor are missing, there is no segment, and the cell contains a dash.
    """
    return ("-", -1) if segment is None else (f"{segment:,}", segment)

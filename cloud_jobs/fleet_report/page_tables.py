"""HTML used by several pages: sections, and tables that can be sorted and saved as CSV."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from cloud_jobs.fleet_report.charts import duration, number
from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_WIDE

Row = Mapping[str, Any]
Cell = tuple[str, object]
"""A cell's HTML, and a number for sorting and CSV. If the second value is not a number, the text of
the cell is used."""


def counted(count: float, noun: str) -> str:
    return f"{number(count)} {noun}" + ("" if count == 1 else "s")


def age(made_at: datetime.datetime, seen: datetime.datetime | None) -> float:
    """Return the seconds between a gateway's last event and the report.

    `seen` is the time of the event, and `made_at` is the time of the report. The result is infinite
    if `seen` is None, and 0 if `seen` is later than `made_at`.
    """
    return max((made_at - seen).total_seconds(), 0) if seen else float("inf")


def when(seen: datetime.datetime | None) -> str:
    return f"{seen:%Y-%m-%d %H:%M}" if seen else "never"


def count_cell(value: float | None) -> Cell:
    """Return a table cell with a number, in a pale colour if it is 0."""
    return (number(value) if value else "<span class=zero>0</span>", value or 0)


def time_cell(seconds: float | None) -> Cell:
    """Return a table cell with a duration, or with a pale dash if it is 0 or unknown."""
    return (duration(seconds) if seconds else "<span class=zero>-</span>", seconds or 0)


def sortable(
    head: Sequence[str],
    bodies: Sequence[tuple[str, Sequence[Sequence[Cell]]]],
    name: str,
    title: str = "",
) -> str:
    """Return an HTML table that can be sorted and saved as CSV.

    Args:
        head: the column names. Text after `|` is the unit, which only the CSV file shows.
        bodies: groups of rows. Each group has a heading as HTML, which may be empty.
        name: identifier of the table, and name of its CSV file.
        title: description for screen readers.
    """
    heads = "".join(
        f'<th scope="col"{_unit_of(column)}><button>{column.partition("|")[0]}</button></th>'
        for column in head
    )
    drawn = "".join(
        f"<tbody>{_group_row(heading, len(head))}{''.join(map(_row, rows))}</tbody>"
        for heading, rows in bodies
    )
    label = f' aria-label="{title}"' if title else ""
    return (
        f'<div class="card sheet"><table id="{name}"{label}><thead><tr>{heads}</tr></thead>'
        f"{drawn}</table></div>"
    )


def csv_button(name: str) -> str:
    """Return the button that saves the table `name` as CSV."""
    return f'<button class="csv" data-table="{name}">Download CSV</button>'


def section(title: str, body: str, *, name: str = "", note: str = "", csv: str = "") -> str:
    """Return a section of a page as HTML.

    Args:
        title: heading of the section.
        body: contents, as HTML.
        name: HTML id of the section, or empty.
        note: text next to the heading, as HTML.
        csv: name of a table that a button in the section saves as CSV, or empty.
    """
    button = csv_button(csv) if csv else ""
    identifier = f' id="{name}"' if name else ""
    said = f"<p>{note}</p>" if note else ""
    return (
        f'<section class="rest"{identifier}><div class="heading"><h2>{title}</h2>{said}{button}'
        f"</div>{body}</section>"
    )


def _unit_of(column: str) -> str:
    name, _, unit = column.partition("|")
    return f' data-csv="{name} ({unit})"' if unit else ""


def _group_row(heading: str, columns: int) -> str:
    return f'<tr class="group"><th scope="rowgroup" colspan="{columns}">{heading}</th></tr>' if (
        heading) else ""  # fmt: skip


def _row(cells: Sequence[Cell]) -> str:
    (first, _), *others = cells
    drawn = "".join(f"<td{_sort(value)}>{html}</td>" for html, value in others)
    return f'<tr><th scope="row"{_tooltip(first)}>{first}</th>{drawn}</tr>'


def _tooltip(name: str) -> str:
    """Return an HTML attribute that shows a long name in full as a tooltip.

    For a short name, return an empty string.
    """
    return f' title="{name}"' if "<" not in name and len(name) > NAME_CHARACTERS_WIDE else ""


def _sort(value: object) -> str:
    return f' data-v="{value}"' if isinstance(value, int | float) else ""


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
"""Explanations of why a message was not delivered, for an operator."""

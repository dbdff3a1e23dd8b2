"""Writes the report to a folder, with one page for the fleet and one for each gateway.

A new report replaces all files of an earlier report in the folder.
"""

from __future__ import annotations

import contextlib
import datetime
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cloud_jobs.fleet_report.attention import Group, attention_of, problems_by_gateway
from cloud_jobs.fleet_report.curves import Packed, Span, curves_of, quarter_days_of
from cloud_jobs.fleet_report.document import FLEET_PAGE, GATEWAYS_FOLDER, file_of
from cloud_jobs.fleet_report.figures import Figures, figures_of, not_delivered_sql
from cloud_jobs.fleet_report.gateway_page import GatewayPage, gateway_page_of
from cloud_jobs.fleet_report.limits import (
    GATEWAYS_PER_READ_MAX,
    ROWS_PER_GATEWAY_MAX,
    SERIES_PER_READ_MAX,
)
from cloud_jobs.fleet_report.names import Names
from cloud_jobs.fleet_report.open_tables import OpenTables, ReportError, explained, open_tables
from cloud_jobs.fleet_report.page import page_of
from cloud_jobs.fleet_report.sensors import SensorReader, Series, among
from cloud_jobs.tables.query_engine import QueryEngine, Row

_MARK: Final = ".oncegate-report"
"""A file that marks folders written by this module. Only these may be replaced."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Written:
    """Summary of a written report: its files and its contents."""

    page: Path
    pages: int
    bytes_written: int
    figures: Figures
    sensors: int
    attention: dict[str, int]
    """Number of problems by kind, worst kind first."""
    names_unused: int
    """Number of gateways in the file of names that are not in the tables. 0 if some gateways are
    not shown."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Data for the pages of a group of gateways, read together. Each field is keyed by gateway."""

    series: dict[str, list[Series]]
    curves: dict[str, Packed]
    cells: dict[str, list[Row]]
    gaps: dict[str, list[Row]]
    not_delivered: dict[str, list[Row]]


def write_report(
    root: str,
    folder: Path,
    *,
    days: int,
    names: Names,
    now: datetime.datetime,
    progress: Progress,
) -> Written:
    """Write the report of the tables in `root` to `folder`, replacing an earlier report.

    Args:
        root: directory or URL of the tables.
        folder: folder of the report. The earlier report stays until the new one is complete.
        days: maximum number of days, counted back from the newest.
        names: names and sites that the operator gave to gateways and sensors.
        now: time of the report, UTC.
        progress: called with two counts: gateways written so far, and all gateways.

    Raises ReportError if the tables cannot be read, and OSError if the folder cannot be written.
    """
    _check(folder)
    with explained(root):
        opened = open_tables(root)
        figures = figures_of(opened, days, now)
    groups = attention_of(figures)
    with _replaced(folder) as place:
        size = _write(place / FLEET_PAGE, page_of(figures, names))
        (place / GATEWAYS_FOLDER).mkdir()
        for gateway, text in _gateway_pages(opened, figures, groups, names, progress):
            size += _write(place / GATEWAYS_FOLDER / file_of(gateway), text)
    return Written(
        page=folder / FLEET_PAGE,
        pages=1 + len(figures.gateways),
        bytes_written=size,
        figures=figures,
        sensors=sum(row.get("sensors") or 0 for row in figures.gateways),
        attention={group.title: group.count for group in groups},
        names_unused=_unused(figures, names),
    )


def _unused(figures: Figures, names: Names) -> int:
    shown = {row["gateway"] for row in figures.gateways}
    if len(shown) < figures.gateways_count:
        return 0
    return len({gateway for gateway, _ in names.entries} - shown)


def _write(path: Path, text: str) -> int:
    data = text.encode("utf-8", "replace")
    path.write_bytes(data)
    return len(data)


def _check(folder: Path) -> None:
    """Check that a report can be written to `folder`.

    Raises ReportError if `folder` is a file, or contains anything other than an earlier report.
    """
    if folder.is_dir():
        if (folder / _MARK).exists() or not any(folder.iterdir()):
            return
        raise ReportError(f"{folder} is not empty and not a report: choose another --output")
    if folder.exists() or folder.suffix in (".html", ".htm"):
        raise ReportError(
            f"{folder}: a report is a folder of pages: choose a name such as "
            f"{folder.with_suffix('').name or 'report'} with --output"
        )


@contextlib.contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """Yield a new, temporary folder. After the `with` block, it replaces `folder`.

    If the block raises an exception, `folder` is not changed. Raises ReportError if a folder with
    the temporary name already exists and is not a report.
    """
    absolute = folder.absolute()
    new, old = (absolute.with_name(f"{absolute.name}{end}") for end in (".part", ".old"))
    absolute.parent.mkdir(parents=True, exist_ok=True)
    for left in (new, old):
        if left.exists():
            if not (left / _MARK).exists():
                raise ReportError(f"{left} is in the way: remove it")
            shutil.rmtree(left)
    new.mkdir()
    try:
        (new / _MARK).touch()
        yield new
        if absolute.exists():
            absolute.rename(old)
        new.rename(absolute)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _gateway_pages(
    opened: OpenTables,
    figures: Figures,
    groups: Sequence[Group],
    names: Names,
    progress: Progress,
) -> Iterator[tuple[str, str]]:
    """Yield each gateway with the HTML of its page.

    Raises ReportError if the tables cannot be read.
    """
    problems = problems_by_gateway(groups)
    count = len(figures.gateways)
    span = _span(figures)
    written = 0
    for rows in _chunks(figures.gateways):
        with explained(figures.tables_root):
            chunk = _read(opened, figures, [row["gateway"] for row in rows], span)
        for row in rows:
            gateway = row["gateway"]
            yield (
                gateway,
                gateway_page_of(
                    GatewayPage(
                        row=row,
                        cells=chunk.cells.get(gateway, []),
                        series=chunk.series.get(gateway, []),
                        curves=chunk.curves.get(gateway),
                        problems=problems.get(gateway, []),
                        gaps=chunk.gaps.get(gateway, []),
                        not_delivered=chunk.not_delivered.get(gateway, []),
                        names=names,
                        made_at=figures.made_at,
                        has_sensors=figures.has_sensors,
                    )
                ),
            )
        written += len(rows)
        progress(written, count)


def _span(figures: Figures) -> Span:
    series = sum(row.get("series") or 0 for row in figures.gateways)
    return Span(figures.days[0], figures.days[-1], quarter_days_of(series))


def _chunks(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Split the gateways into groups whose curves are small enough to be read together."""
    chunk: list[Row] = []
    series = 0
    for row in rows:
        found = row.get("series") or 0
        if chunk and (series + found > SERIES_PER_READ_MAX or len(chunk) == GATEWAYS_PER_READ_MAX):
            yield chunk
            chunk, series = [], 0
        chunk.append(row)
        series += found
    if chunk:
        yield chunk


def _read(opened: OpenTables, figures: Figures, gateways: list[str], span: Span) -> _Chunk:
    tables, chosen = opened.engine, among(gateways)
    series: dict[str, list[Series]] = {}
    if opened.has_sensors:
        reader = SensorReader(tables, first=span.first, last=span.last, now=figures.made_at)
        series = reader.series_of(gateways)
    wanted = set(gateways)
    lost = f"SELECT * FROM ({not_delivered_sql(figures.days)}) n WHERE {chosen}"
    return _Chunk(
        series=series,
        curves=curves_of(tables, series, span),
        cells=_by_gateway([row for row in figures.cells if row["gateway"] in wanted]),
        gaps=_largest(tables, f"SELECT * FROM gaps WHERE {chosen}", "coalesce(missing, 0)"),
        not_delivered=_largest(tables, lost, "messages"),
    )


def _largest(tables: QueryEngine, query: str, size: str) -> dict[str, list[Row]]:
    """Return the largest rows of a query, at most ROWS_PER_GATEWAY_MAX rows for each gateway.

    `size` is the SQL expression by which rows are compared. The additional column `of_gateway`
    contains the number of all rows that the query returns for the gateway.
    """
    return _by_gateway(
        tables.rows(
            "SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY gateway) AS of_gateway, "
            f"row_number() OVER (PARTITION BY gateway ORDER BY {size} DESC) AS place "
            f"FROM ({query}) q) r WHERE place <= {ROWS_PER_GATEWAY_MAX} ORDER BY gateway, place"
        )
    )


def _by_gateway(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["gateway"], []).append(row)
    return found

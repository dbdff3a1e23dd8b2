"""The gold tables that the report reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from deltalake.exceptions import TableNotFoundError

from cloud_jobs.fleet_report.sensors import SENSOR_TABLES
from cloud_jobs.tables.query_engine import READ_FAILURES, QueryEngine, first_line_of

_TABLES: Final = ("gateway_health", "qos2_daily", "audit_daily", "gaps", "boots", "sessions",
                  "quarantine", "gold_runs", "drops", "qos2_deliveries")  # fmt: skip


class ReportError(RuntimeError):
    """Error that is raised if the report cannot be written. The message explains how to fix it."""


@dataclass(frozen=True, slots=True)
class OpenTables:
    """A query engine for the gold tables. `has_sensors` is True if the sensor tables exist."""

    engine: QueryEngine
    has_sensors: bool


def open_tables(root: str) -> OpenTables:
    """Open the gold tables.

    The sensor tables may be missing, because older versions of the job did not write them. Raises
    one of the exceptions in READ_FAILURES if another table is missing or cannot be read.
    """
    try:
        return OpenTables(QueryEngine(root, (*_TABLES, *SENSOR_TABLES)), has_sensors=True)
    except TableNotFoundError:
        return OpenTables(QueryEngine(root, _TABLES), has_sensors=False)


@contextlib.contextmanager
def explained(root: str) -> Iterator[None]:
    """Convert read failures within the block to a ReportError that explains the failure.

    Other exceptions are not converted. `root` is the location of the tables.
    """
    try:
        yield
    except TableNotFoundError as error:
        raise ReportError(
            f"{root} has no gold tables ({first_line_of(error)}): run `oncegate gold` first"
        ) from error
    except READ_FAILURES as error:
        raise ReportError(
            f"the tables in {root} cannot be read ({first_line_of(error)}): are they those of "
            "`oncegate gold`, and may this process read them?"
        ) from error

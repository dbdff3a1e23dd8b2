"""Detects how much a run of `oncegate gold` has to do, without starting a JVM.

The library `deltalake` reads the tables `batches` and `gold_runs` in a second; starting Spark takes
more than ten. This works only for local directories. If there is any doubt, the result is None, and
a run with Spark decides (docs/decisions/0189).
"""

from __future__ import annotations

from typing import Any, Final

from cloud_jobs.gold.gateways import gateways_in, with_news
from cloud_jobs.gold.run import VERSION, result_of
from cloud_jobs.places import local_directory
from cloud_jobs.spark.outside import is_untouched
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.query_engine import READ_FAILURES, QueryEngine, Row
from cloud_jobs.tables.versions import PROPERTY

_LAST: Final = """
SELECT coalesce((SELECT max(batch) FROM batches), 0) AS ingested, max(run) AS run,
    max(CASE WHEN is_done THEN run END) AS done,
    max(CASE WHEN is_done THEN through_batch END) AS through,
    coalesce((SELECT audited_through FROM gold_runs WHERE is_done ORDER BY run DESC LIMIT 1), 0)
        AS audited
FROM gold_runs
"""
"""Query for the last ingested batch, and the last batches that runs have processed and audited."""


def result_if_up_to_date(root: str, *, is_audited: bool) -> dict[str, Any] | None:
    """Return the result of a run if there is nothing to do, or None if Spark has to check this.

    With the argument `is_audited`, the last batch must also be audited.
    """
    try:
        found = _opened(root)
    except READ_FAILURES:
        return None
    if found is None:
        return None
    _, last = found
    if last["run"] != last["done"] or last["through"] != last["ingested"]:
        return None
    through, audited = last["through"], last["audited"]
    if is_audited and audited < through:
        return None
    return result_of(root, batches=0, through=through, audited_through=audited)


def events_to_read(root: str, *, is_audited: bool) -> int | None:
    """Return the number of events of the gateways that a run would read, or None if not known.

    With the argument `is_audited`, the run also audits these gateways.
    """
    try:
        found = _opened(root, "segments", "gateway_keys")
        if found is None:
            return None
        engine, last = found
        if last["done"] is None:
            return None
        processed = last["audited"] if is_audited else last["through"]
        return with_news(gateways_in(engine), processed + 1).events
    except READ_FAILURES:
        return None


def _opened(root: str, *names: str) -> tuple[QueryEngine, Row] | None:
    """Open the tables of _LAST, all gold tables and those in `names`. Return the result of _LAST.

    Return None if only Spark can read the tables, or if they are of another version.
    Raises one of the exceptions in READ_FAILURES if a table cannot be read.
    """
    if local_directory(root) is None or not is_untouched():
        return None
    engine = QueryEngine(root, ("batches", *names, *GOLD_TABLES))
    if engine.properties("gold_runs").get(PROPERTY) != str(VERSION):
        return None
    (last,) = engine.rows(_LAST)
    return engine, last

"""The gateways that a run of `oncegate gold` reads and updates: those with something new.

All rows of a gold table, and all checks of the audit, depend on one gateway only. A gateway without
new segments and keys keeps its rows and its verdicts (docs/decisions/0192).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from cloud_jobs.ingest.withdrawal import WITHDRAWN
from cloud_jobs.limits import GATEWAYS_PER_RUN_MAX
from cloud_jobs.tables.sql import Queryable

_SEGMENTS: Final = """
SELECT gateway, batch, CASE WHEN state = 'ingested' THEN lines - bad_lines END AS events,
    CASE WHEN detail = :withdrawn THEN batch END AS withdrawn
FROM {segments}
"""
_KEYS: Final = "UNION ALL SELECT gateway, batch, NULL, NULL FROM {gateway_keys}"
_GATEWAYS: Final = """
SELECT gateway, max(batch) AS batch, coalesce(sum(events), 0) AS events,
    coalesce(max(withdrawn), 0) AS withdrawn
FROM ({rows}) WHERE gateway IS NOT NULL GROUP BY gateway
"""


class Gateway(NamedTuple):
    """A gateway in the ingested tables."""

    name: str
    batch: int
    """The last batch with a segment or a key of the gateway."""
    events: int
    withdrawn: int
    """The last batch that withdrew segments of the gateway, or 0."""


class Chosen(NamedTuple):
    """The gateways that a run reads and updates."""

    names: frozenset[str] | None
    """None selects all gateways."""
    events: int
    """How many events the tables contain from these gateways."""


def gateways_in(silver: Queryable, *, has_keys: bool = True) -> list[Gateway]:
    """Return all gateways in the ingested tables.

    `has_keys` is False if there is no table `gateway_keys`.
    """
    rows = _SEGMENTS + (_KEYS if has_keys else "")
    found = silver.query(_GATEWAYS.replace("{rows}", rows), withdrawn=WITHDRAWN)
    return [Gateway(row["gateway"], row["batch"], row["events"], row["withdrawn"]) for row in found]


def with_news(gateways: Iterable[Gateway], since: int) -> Chosen:
    """Choose the gateways with segments or keys of batch `since` or later.

    If all gateways have something new, or more than GATEWAYS_PER_RUN_MAX, choose all.
    """
    every = [*gateways]
    new = [one for one in every if one.batch >= since]
    if len(new) == len(every) or len(new) > GATEWAYS_PER_RUN_MAX:
        return Chosen(None, sum(one.events for one in every))
    return Chosen(frozenset(one.name for one in new), sum(one.events for one in new))

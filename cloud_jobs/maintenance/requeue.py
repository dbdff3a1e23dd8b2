"""Another try for refused segments at the next ingestion.

What this job did not know (a segment of a newer version) it may know after an upgrade, but the
ingestion passes over a file of which name and bytes are refused. The rows stay: their kind becomes
`requeued`, which the ingestion does not pass over. A file that is refused again has a new row.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import literal, quoted


def requeue(tables: Tables, *, reason: str | None, gateway: str | None) -> dict[str, Any]:
    """Requeue refused segments, all or those of one reason or gateway; return how many by reason.

    Lines, events, payloads and readings are judged with their segment, and are not requeued.
    """
    where = F.col("kind") == "segment"
    if reason is not None:
        where &= F.col("reason") == reason
    if gateway is not None:
        where &= F.col("gateway") == gateway
    found = tables.read("quarantine").where(where).groupBy("reason").count().collect()
    if found:
        chosen = {"reason": reason, "gateway": gateway}
        wanted = [f"{key} = {literal(one)}" for key, one in chosen.items() if one is not None]
        condition = " AND ".join(["kind = 'segment'", *wanted])
        table = f"delta.`{quoted(tables.path('quarantine'))}`"
        # Parameters are of queries only; these are literals.
        tables.spark.sql(f"UPDATE {table} SET kind = 'requeued' WHERE {condition}")
    counts = {row["reason"]: row["count"] for row in found}
    return {"tables_root": tables.root, "segments": sum(counts.values()), "reasons": counts}

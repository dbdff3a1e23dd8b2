"""Marks refused segments, so that the next ingestion examines them again.

After an upgrade the job may accept a segment that it refused before, for example one of a newer
format version. However, ingestion skips a file that was refused before and has not changed.
Therefore the column `kind` of the segment's rows in the table `quarantine` is set to `requeued`,
and the next ingestion examines the file again. If the file is refused again, a new row is added.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import literal, quoted


def requeue(tables: Tables, *, reason: str | None, gateway: str | None) -> dict[str, Any]:
    """Requeue refused segments, so that the next ingestion examines them again.

    The arguments `reason` and `gateway` select the segments; None selects all. Return the number of
    requeued segments, in total and by reason. Refused lines, events, payloads and readings are not
    requeued separately, because they are checked again with their segment.
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
        # UPDATE accepts no query parameters, so the values are inserted as literals.
        tables.spark.sql(f"UPDATE {table} SET kind = 'requeued' WHERE {condition}")
    counts = {row["reason"]: row["count"] for row in found}
    return {"tables_root": tables.root, "segments": sum(counts.values()), "reasons": counts}

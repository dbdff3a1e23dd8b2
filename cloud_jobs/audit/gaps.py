"""Missing events: gaps in the event numbers, and breaks in the chain of segments.

No events are missing within a segment that ingestion has verified. Therefore, only the boundaries
between consecutive segments are checked, for each store (database) of a gateway. If possible, the
reason for a gap is added: a file in quarantine whose name covers the missing events, or the
gateway's own event `log_truncated`. Events that were lost after the last uploaded segment cannot be
detected.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import STORE, is_event
from cloud_jobs.audit.signatures import untrusted_segments
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables

GAP_COLUMNS: Final = ("gateway", "kind", "segment", "from_sequence", "to_sequence", "detail")

_READ: Final = ("name", "gateway", "store", "segment", "state", "reason", "first_sequence",
                "last_sequence", "file_sha256", "previous_sha256")  # fmt: skip
"""Columns of the table `segments` that the query GAPS reads."""

GAPS: Final = """
WITH trusted AS (
    SELECT gateway, store, segment, first_sequence, last_sequence, name, file_sha256,
        previous_sha256
    FROM {segments} WHERE state IN ('verified', 'ingested')
), refused AS (
    SELECT gateway, segment, first_sequence, last_sequence,
        'segment ' || CAST(segment AS STRING) || ' is in quarantine: ' || reason
        || CASE WHEN reason = 'foreign_key'
            THEN '; if the gateway has a new key, add it to the file of --keys'
            ELSE '; land a good copy of it, the gateway may have one in log/sent/' END AS why
    FROM {segments} WHERE state = 'quarantined' AND first_sequence IS NOT NULL
), placed AS (
    SELECT gateway, segment, first_sequence,
        max(last_sequence) OVER (PARTITION BY gateway, store ORDER BY segment, first_sequence, name
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_in_store,
        lag(last_sequence) OVER (PARTITION BY gateway ORDER BY segment, first_sequence, name)
            AS last_before
    FROM trusted
), expected AS (
    -- A new database goes on counting where the old one ended, or begins again at 1.
    SELECT gateway, segment, first_sequence, coalesce(
        last_in_store + 1,
        CASE WHEN first_sequence = 1 THEN 1 END,
        CASE WHEN first_sequence > last_before THEN last_before + 1 ELSE 1 END) AS from_sequence
    FROM placed
), holes AS (
    SELECT gateway, segment, from_sequence, first_sequence - 1 AS to_sequence
    FROM expected WHERE first_sequence > from_sequence
), claims AS (
    SELECT gateway, first_sequence AS least, last_sequence AS greatest, why FROM refused
    UNION ALL
    SELECT gateway, from_sequence, to_sequence,
        'the gateway had no room for them (log_truncated)'
    FROM {truncations}
), explained AS (
    SELECT holes.gateway, holes.segment, holes.from_sequence, holes.to_sequence,
        min(claims.why) AS why
    FROM holes LEFT JOIN claims ON claims.gateway = holes.gateway
        AND claims.least <= holes.to_sequence AND claims.greatest >= holes.from_sequence
    GROUP BY holes.gateway, holes.segment, holes.from_sequence, holes.to_sequence
), covered AS (
    SELECT gateway, max(last_sequence) AS read_to FROM trusted GROUP BY gateway
)
SELECT gateway, 'sequence' AS kind, segment, from_sequence, to_sequence, coalesce(why,
    'no segment with them has landed: look for it on the gateway, in log/sent/') AS detail
FROM explained
UNION ALL
-- Segments after another one than they name, where no sequence is missing.
SELECT one.gateway, 'chain', one.segment, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT),
    CASE WHEN one.previous_sha256 IS NULL THEN 'the gateway began a new chain here'
    ELSE 'the segment before must have sha256 ' || one.previous_sha256
        || ': it is missing, or another one stands in its place' END
FROM trusted AS one
WHERE one.segment > 1
    AND NOT EXISTS (SELECT 1 FROM trusted AS landed WHERE landed.gateway = one.gateway
        AND landed.segment + 1 = one.segment AND landed.file_sha256 = one.previous_sha256)
    AND NOT EXISTS (SELECT 1 FROM holes
        WHERE holes.gateway = one.gateway AND holes.segment = one.segment)
UNION ALL
SELECT refused.gateway, 'unread', refused.segment,
    greatest(refused.first_sequence, coalesce(covered.read_to, 0) + 1), refused.last_sequence,
    refused.why
FROM refused LEFT JOIN covered ON covered.gateway = refused.gateway
WHERE refused.last_sequence > coalesce(covered.read_to, 0)
"""
"""Query with one row per gap (GAP_COLUMNS), in SQL that Spark and SQLite understand. `kind` is
`sequence` (events from..to are missing before `segment`), `chain` (no number is missing, but
`segment` names another predecessor) or `unread` (a file in quarantine claims events after all
ingested ones). `truncations` are the `log_truncated` events."""


def gaps_of(segments: DataFrame, events: DataFrame) -> DataFrame:
    """Return one row for each gap in the events, with the columns GAP_COLUMNS.

    Args:
        segments: rows of the table `segments`.
        events: all events. An event `log_truncated` may explain a gap.
    """
    # GAPS reads the segments several times. Of rows in memory, Spark plans no scan of the table.
    rows = as_values(segments.select(*_READ))
    truncations = events.where(is_event("log_truncated"))
    claims = as_values(truncations.select("gateway", "from_sequence", "to_sequence"))
    return as_values(segments.sparkSession.sql(GAPS, segments=rows, truncations=claims))


def log_gaps(tables: Tables, events: DataFrame, holes: DataFrame) -> DataFrame:
    """Return one row for each gap in the log: missing, damaged, refused or untrusted events.

    The columns are `gateway`, `store`, `at` and `detail`. The event `at` is the first one after the
    gap. For an untrusted segment, it is the segment's first event. `holes` is the result of
    `gaps_of`.
    """
    segments = tables.read("segments")
    stores = segments.where("state = 'ingested'").select("gateway", "segment", "store",
                                                       "first_sequence").distinct()  # fmt: skip
    at = F.coalesce(F.col("to_sequence") + 1, "first_sequence", F.lit(0))
    missing = F.when(
        F.col("from_sequence").isNotNull(),
        F.concat(F.lit("events "), "from_sequence", F.lit(" to "), "to_sequence",
                 F.lit(" are missing: ")),
    )  # fmt: skip
    missed = holes.join(stores, ["gateway", "segment"], "left").select(
        "gateway",
        F.coalesce("store", F.lit("")).alias("store"),
        at.alias("at"),
        F.concat(F.coalesce(missing, F.lit("")), "detail").alias("detail"),
    )
    damage = events.where(is_event("store_damaged")).select(
        *STORE,
        (F.col("sequence") + 1).alias("at"),
        F.concat(F.lit("the data on disk were damaged and salvaged: "), "detail").alias("detail"),
    )
    refused = tables.read("quarantine").where("kind IN ('line', 'event')")
    names = segments.select(F.col("name").alias("segment_name"), "store", "first_sequence")
    lines = refused.join(names, "segment_name").select(
        "gateway",
        "store",
        F.coalesce(F.col("sequence") + 1, F.col("first_sequence")).alias("at"),
        F.concat(F.lit("in quarantine: "), "reason").alias("detail"),
    )
    found = missed.unionByName(damage).unionByName(lines)
    foreign = untrusted_segments(tables)
    return found if foreign is None else found.unionByName(foreign)

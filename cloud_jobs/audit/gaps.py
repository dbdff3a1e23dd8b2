"""What never arrived: holes in the numbering of events, and breaks in the chain of segments.

Trusted segments are contiguous inside, so the table `segments` alone shows every hole between them:
per gateway and store, in the order of segment numbers, across boots. A hole is explained as far as
the tables can: by a file in quarantine that claims the range, or by the gateway's own
`log_truncated`. What was lost after the last segment that landed cannot be seen from here.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

GAP_COLUMNS = ("gateway", "kind", "segment", "from_sequence", "to_sequence", "detail")


def gaps_of(segments: DataFrame, truncations: DataFrame) -> DataFrame:
    """Return one row for each gap (GAP_COLUMNS).

    `kind` is `sequence` (events from..to are missing before `segment`), `chain` (no event is
    missing by its number, but the segment before `segment` is not the one it names) or `unread`
    (a file in quarantine claims events after all that were read). `truncations` are the
    `log_truncated` events.
    """
    trusted = segments.where(F.col("state").isin("verified", "ingested"))
    refused = segments.where(F.col("state") == "quarantined").where("first_sequence IS NOT NULL")
    holes = _holes(trusted)
    explained = _explained(holes, refused, truncations)
    return explained.unionByName(_breaks(trusted, holes)).unionByName(_unread(trusted, refused))


def _refusal() -> Column:
    """Return the advice on a refused file that claims the missing events."""
    copy = "; land a good copy of it, the gateway may have one in log/sent/"
    key = "; if the gateway has a new key, add it to the file of --keys"
    return F.concat(
        F.lit("segment "),
        F.col("segment").cast("string"),
        F.lit(" is in quarantine: "),
        "reason",
        F.when(F.col("reason") == "foreign_key", key).otherwise(copy),
    )


def _holes(trusted: DataFrame) -> DataFrame:
    order = ("segment", "first_sequence", "name")
    in_store = Window.partitionBy("gateway", "store").orderBy(*order)
    before = in_store.rowsBetween(Window.unboundedPreceding, -1)
    last_in_store = F.max("last_sequence").over(before)
    last = F.lag("last_sequence").over(Window.partitionBy("gateway").orderBy(*order))
    first = F.col("first_sequence")
    # A new database goes on counting where the old one ended, or begins again at 1.
    in_new_store = F.when(first > last, last + 1).otherwise(F.lit(1))
    expected = F.coalesce(last_in_store + 1, F.when(first == 1, F.lit(1)), in_new_store)
    found = trusted.withColumn("from_sequence", expected.cast("long"))
    return found.where(first > F.col("from_sequence")).select(
        "gateway", "segment", "from_sequence", (first - 1).alias("to_sequence")
    )


def _explained(holes: DataFrame, refused: DataFrame, truncations: DataFrame) -> DataFrame:
    claims = refused.select(
        F.col("gateway").alias("of"),
        F.col("first_sequence").alias("least"),
        F.col("last_sequence").alias("greatest"),
        _refusal().alias("why"),
    ).unionByName(
        truncations.select(
            F.col("gateway").alias("of"),
            F.col("from_sequence").alias("least"),
            F.col("to_sequence").alias("greatest"),
            F.lit("the gateway had no room for them (log_truncated)").alias("why"),
        )
    )
    overlaps = (
        (F.col("gateway") == F.col("of"))
        & (F.col("least") <= F.col("to_sequence"))
        & (F.col("greatest") >= F.col("from_sequence"))
    )
    key = ("gateway", "segment", "from_sequence", "to_sequence")
    joined = holes.join(claims, overlaps, "left").groupBy(*key).agg(F.min("why").alias("why"))
    unknown = F.lit("no segment with them has landed: look for it on the gateway, in log/sent/")
    return joined.select(
        "gateway",
        F.lit("sequence").alias("kind"),
        "segment",
        "from_sequence",
        "to_sequence",
        F.coalesce("why", unknown).alias("detail"),
    )


def _breaks(trusted: DataFrame, holes: DataFrame) -> DataFrame:
    """Find segments after another one than they name, where no sequence is missing."""
    landed = trusted.select(
        F.col("gateway").alias("of"),
        (F.col("segment") + 1).alias("next_segment"),
        F.col("file_sha256").alias("landed_sha256"),
    )
    before = (F.col("gateway") == F.col("of")) & (F.col("segment") == F.col("next_segment"))
    follows = before & F.col("previous_sha256").eqNullSafe(F.col("landed_sha256"))
    unlinked = trusted.where("segment > 1").join(landed, follows, "left_anti")
    unseen = unlinked.join(holes, ["gateway", "segment"], "left_anti")
    detail = F.when(
        F.col("previous_sha256").isNull(), F.lit("the gateway began a new chain here")
    ).otherwise(
        F.concat(
            F.lit("the segment before must have sha256 "),
            "previous_sha256",
            F.lit(": it is missing, or another one stands in its place"),
        )
    )
    return unseen.select(
        "gateway",
        F.lit("chain").alias("kind"),
        "segment",
        F.lit(None).cast("long").alias("from_sequence"),
        F.lit(None).cast("long").alias("to_sequence"),
        detail.alias("detail"),
    )


def _unread(trusted: DataFrame, refused: DataFrame) -> DataFrame:
    read = trusted.groupBy("gateway").agg(F.max("last_sequence").alias("read_to"))
    beyond = refused.join(read, "gateway", "left").where(
        F.col("last_sequence") > F.coalesce("read_to", F.lit(0))
    )
    least = F.greatest("first_sequence", F.coalesce("read_to", F.lit(0)) + 1)
    return beyond.select(
        "gateway",
        F.lit("unread").alias("kind"),
        "segment",
        least.cast("long").alias("from_sequence"),
        F.col("last_sequence").alias("to_sequence"),
        _refusal().alias("detail"),
    )

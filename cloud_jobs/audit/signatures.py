"""Finds the keys that signed the ingested segments, and segments without a valid signature.

Once a gateway has a key, ingestion refuses segments that are not signed with a valid key. The
tables can still contain such segments, for two reasons. A key may have been withdrawn after
segments that it signed were ingested. Or an unsigned segment may have arrived before an earlier,
signed segment of the same gateway.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.limits import SIGNERS_SHOWN_MAX
from cloud_jobs.tables.delta_tables import Tables


def signatures_of(tables: Tables) -> list[dict[str, Any]]:
    """Return the number of ingested segments for each gateway and signing key.

    For unsigned segments, the field `public_key` is None.
    """
    if not tables.has("gateway_keys"):
        rows = _ingested(tables).groupBy("gateway").count()
        rows = rows.withColumn("public_key", F.lit(None).cast("string"))
    else:
        rows = _ingested(tables).groupBy("gateway", "public_key").count()
    ordered = rows.orderBy("gateway", "public_key").limit(SIGNERS_SHOWN_MAX)
    return [
        {"gateway": row["gateway"], "public_key": row["public_key"], "segments": row["count"]}
        for row in ordered.collect()
    ]


def untrusted_segments(tables: Tables) -> DataFrame | None:
    """Find ingested segments that should have a valid signature but do not.

    The columns are `gateway`, `store`, `at` (the first event's number) and `detail`. Return None if
    signatures cannot be checked, because the table `gateway_keys` does not exist.
    """
    if not tables.has("gateway_keys"):
        return None
    keys = tables.read("gateway_keys")
    began = keys.groupBy("gateway").agg(
        F.min("segment").alias("signed_segment"), F.min("first_sequence").alias("signed_sequence")
    )
    late = (F.col("segment") >= F.col("signed_segment")) | (
        F.col("last_sequence") >= F.col("signed_sequence")
    )
    unsigned = (
        _ingested(tables)
        .where("public_key IS NULL")
        .join(began, "gateway")
        .where(late)
        .withColumn(
            "why", F.lit("is unsigned, and was taken before the gateway's first signed one landed")
        )
    )
    withdrawn = keys.where("is_withdrawn").select("gateway", "public_key")
    revoked = (
        _ingested(tables)
        .join(withdrawn, ["gateway", "public_key"])
        .withColumn("why", F.concat(F.lit("is signed by the withdrawn key "), "public_key"))
    )
    columns = ("gateway", "store", "segment", "first_sequence", "why")
    found = unsigned.select(*columns).unionByName(revoked.select(*columns))
    detail = F.concat(F.lit("segment "), F.col("segment").cast("string"), F.lit(" "), "why")
    return found.select(
        "gateway", "store", F.col("first_sequence").alias("at"), detail.alias("detail")
    )


def _ingested(tables: Tables) -> DataFrame:
    return tables.read("segments").where("state = 'ingested'")

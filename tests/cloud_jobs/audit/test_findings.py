"""A finding and the log's breaks decide between violation, inconclusive and no exception."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import WHOLE_ONLY, finding
from cloud_jobs.audit.run import with_verdicts


def test_a_break_between_two_events_makes_what_contradicts_them_inconclusive_or_nothing(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame(
        [("gw", "store", 1, 1, sequence) for sequence in (5, 9)],
        "gateway string, store string, message long, session long, sequence long",
    )
    breaks = spark.createDataFrame(
        [("gw", "store", 7, "events 5 to 6 are missing"), ("gw", "other", 2, "elsewhere")],
        "gateway string, store string, at long, detail string",
    )
    since = F.col("sequence") - 3
    found = finding(rows, "firm", F.lit("twice"), since).unionByName(
        finding(rows, F.lit("whole"), F.lit("twice"), since, WHOLE_ONLY)
    )
    verdicts = {
        (row.check_name, row.store, row.sequence): row.verdict
        for row in with_verdicts(found, breaks).collect()
    }
    assert verdicts == {
        ("firm", "store", 5): "violation",
        ("whole", "store", 5): "violation",
        ("firm", "store", 9): "inconclusive",
        ("log", "store", 7): "inconclusive",
        ("log", "other", 2): "inconclusive",
    }

"""Rows of the table `quarantine`: refused data, with the reason and the origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.segment_file import MORE
from cloud_jobs.limits import DETAIL_CHARACTERS_MAX, QUARANTINE_ROWS_MAX, RAW_CHARACTERS_MAX
from cloud_jobs.tables.schemas import QUARANTINE


def _rows(found: DataFrame, batch: int, kind: str, **columns: Column | str | None) -> DataFrame:
    """Convert `found` to rows of the table `quarantine`.

    Each further argument is named after a column of the table. Its value is an expression, or the
    name of a column of `found`. All other columns are null.
    """

    def column(name: str) -> Column:
        given = columns.get(name)
        return F.lit(None) if given is None else F.col(given) if isinstance(given, str) else given

    fixed = {"batch": F.lit(batch), "kind": F.lit(kind)}
    bounded = {
        "raw": F.substring(column("raw"), 1, RAW_CHARACTERS_MAX),
        "detail": F.substring(column("detail"), 1, DETAIL_CHARACTERS_MAX),
        "refused": F.lit(1) if columns.get("refused") is None else column("refused"),
    }
    chosen = fixed | bounded
    return found.select(
        *(
            chosen.get(field.name, column(field.name)).cast(field.dataType).alias(field.name)
            for field in QUARANTINE.fields
        )
    )


def bounded(rows: DataFrame) -> DataFrame:
    """Keep at most QUARANTINE_ROWS_MAX rows for each kind, gateway, broker start and segment.

    If rows of such a group are omitted, one additional row contains their count."""
    group = Window.partitionBy("kind", "gateway", "boot", "segment_name")
    ordered = group.orderBy("sequence", "line", "raw")
    ranked = (
        rows.withColumn("nth", F.row_number().over(ordered))
        .withColumn("last", F.max("sequence").over(group))
        .withColumn(
            "rest", F.sum("refused").over(ordered.rowsBetween(0, Window.unboundedFollowing))
        )
    )
    represents_others = (F.col("nth") > QUARANTINE_ROWS_MAX) & (F.col("rest") > F.col("refused"))
    detail = F.concat(
        F.format_number("rest", 0),
        F.lit(" more refusals at events "),
        "sequence",
        F.lit(" to "),
        "last",
        F.lit("; the first of them: "),
        F.coalesce("detail", "reason"),
    )
    summary = {
        "reason": F.lit(MORE),
        "detail": F.substring(detail, 1, DETAIL_CHARACTERS_MAX),
        "sequence": F.col("last"),
        "line": F.lit(None),
        "raw": F.lit(None),
        "refused": F.col("rest"),
    }
    return ranked.where(F.col("nth") <= QUARANTINE_ROWS_MAX + 1).select(
        *(
            F.when(represents_others, summary.get(field.name, F.col(field.name)))
            .otherwise(F.col(field.name))
            .cast(field.dataType)
            .alias(field.name)
            for field in QUARANTINE.fields
        )
    )


def refused_segments(
    files: Iterable[Mapping[str, Any]], segments: Iterable[Mapping[str, Any]], batch: int
) -> list[dict[str, Any]]:
    """Return rows of the table `quarantine` for refused files.

    A file with the same contents as an accepted file is omitted.
    """
    own = ("name", "file_sha256")
    doubled = {tuple(row[name] for name in own) for row in segments if row["state"] == "duplicate"}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for file in files:
        key = tuple(file[name] for name in (*own, "file_bytes"))
        if file["reason"] is None or key[:-1] in doubled:
            continue
        row = {name: file[name] for name in ("gateway", "boot", "file_sha256", "file_bytes")}
        detail = file["detail"][:DETAIL_CHARACTERS_MAX] if file["detail"] else None
        found.setdefault(key, row | {
            "batch": batch, "kind": "segment", "reason": file["reason"], "detail": detail,
            "segment_name": file["name"], "refused": 1,
        })  # fmt: skip
    return [*found.values()]


def refused_lines(staged: DataFrame, batch: int) -> DataFrame:
    """Select the malformed lines of trusted files as rows of the table `quarantine`."""
    of_file = ("name", "gateway", "boot", "file_sha256", "file_bytes")
    lines = staged.where("reason IS NULL").select(*of_file, F.inline("malformed"))
    return _rows(
        lines.dropDuplicates(["file_sha256", "line"]),
        batch,
        "line",
        reason="reason",
        detail="detail",
        segment_name="name",
        gateway="gateway",
        boot="boot",
        sequence="sequence",
        line="line",
        raw="raw",
        file_sha256="file_sha256",
        file_bytes="file_bytes",
        refused="refused",
    )


def refused_events(conflicting: DataFrame, batch: int) -> DataFrame:
    detail = F.concat(F.lit("this event has other contents in "), F.col("known_segment"))
    return _rows(
        conflicting,
        batch,
        "event",
        reason=F.lit("conflict"),
        detail=detail,
        segment_name="segment_name",
        gateway="gateway",
        boot="boot",
        sequence="sequence",
        line="line",
        raw=F.to_json("contents"),
    )


def refused_payloads(records: DataFrame, batch: int) -> DataFrame:
    """Select refused messages as rows of the table `quarantine`.

    A message is refused if its payload is not SenML JSON, or contains a reading that belongs to
    another topic.
    """
    wrong = records.where("wrong IS NOT NULL").dropDuplicates(["gateway", "store", "message"])
    return _rows(
        wrong,
        batch,
        "payload",
        reason=F.when(F.col("is_elsewhere"), "topic").otherwise("not_senml"),
        detail=F.concat(
            "wrong",
            F.lit(" (published by "),
            F.coalesce("client_id", F.lit("the broker")),
            F.lit(" to "),
            "topic",
            F.lit(")"),
        ),
        gateway="gateway",
        boot="boot",
        sequence="sequence",
        raw=F.coalesce("payload", "payload_base64"),
    )


def refused_readings(conflicting: DataFrame, batch: int) -> DataFrame:
    return _rows(
        conflicting,
        batch,
        "reading",
        reason=F.lit("conflict"),
        detail=F.concat(
            F.lit("a reading with this identity has another value: "), F.col("identity")
        ),
        gateway="gateway",
        boot="boot",
        sequence="sequence",
        raw=F.to_json("contents"),
    )

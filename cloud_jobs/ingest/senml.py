"""From a delivered message's payload to SenML records (docs/formats/readings.md, RFC 8428).

A payload is refused or read as a whole. Its type is checked value by value through a variant,
because a cast would turn the text "21.5" into a number without an error.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.deliveries import MESSAGE

_RELATIVE_SECONDS_MAX: Final = 2**28
_FIELDS: Final[dict[str, tuple[str, str]]] = {
    # field of RFC 8428 or of ours: (its type in JSON, its type here)
    "bn": ("text", "string"),
    "bt": ("number", "double"),
    "bu": ("text", "string"),
    "bv": ("number", "double"),
    "bs": ("number", "double"),
    "n": ("text", "string"),
    "t": ("number", "double"),
    "u": ("text", "string"),
    "v": ("number", "double"),
    "vs": ("text", "string"),
    "vb": ("truth", "boolean"),
    "vd": ("text", "string"),
    "s": ("number", "double"),
    "device": ("text", "string"),
    "boot": ("integer", "bigint"),
    "sequence": ("integer", "bigint"),
}
_JSON_TYPES: Final = {
    "text": "^(STRING|VOID)$",
    "number": r"^(BIGINT|DOUBLE|DECIMAL\(.*|VOID)$",
    "integer": "^(BIGINT|VOID)$",
    "truth": "^(BOOLEAN|VOID)$",
}


def records_of(delivered: DataFrame) -> DataFrame:
    """Return one row for each SenML record, base fields resolved; `wrong` is the rule broken.

    A payload without records gives one row with the reason.
    """
    # A JSON parser of Spark stops after the first value and ignores what follows it. What reads as
    # the only value of an object and as the only values of an array has nothing after it.
    payload = F.coalesce(F.col("payload"), F.lit(""))
    in_object = F.try_parse_json(F.concat(F.lit('{"pack":'), payload, F.lit("}")))
    in_array = F.try_parse_json(F.concat(F.lit("["), payload, F.lit("]")))
    parsed = delivered.withColumn("pack", in_object).withColumn("array_pack", in_array)
    records = F.expr("try_variant_get(pack, '$.pack', 'array<variant>')")
    is_array = F.expr("schema_of_variant(try_variant_get(pack, '$.pack', 'variant'))").startswith(
        "ARRAY<"
    )
    wrong = (
        F.when(F.col("payload_base64").isNotNull(), "the payload is not UTF-8")
        .when(F.col("pack").isNull() | F.col("array_pack").isNull(), "the payload is not JSON")
        .when(~is_array, "the payload is no JSON array")
        .when(F.coalesce(F.size(records), F.lit(0)) == 0, "the pack has no records")
    )
    whole = parsed.withColumn("wrong_pack", wrong).withColumn(
        "records", F.when(F.col("wrong_pack").isNull(), records)
    )
    rows = whole.select(
        *delivered.columns,
        "wrong_pack",
        F.posexplode_outer("records").alias("position", "record"),
    )
    typed = rows.select(
        *delivered.columns,
        "wrong_pack",
        F.coalesce("position", F.lit(0)).cast("long").alias("position"),
        *(_field(name, to).alias(f"senml_{name}") for name, (_, to) in _FIELDS.items()),
        _mistyped().alias("wrong_field"),
    )
    return _resolved(typed)


def _field(name: str, to: str) -> Column:
    return F.expr(f"try_variant_get(record, '$.{name}', '{to}')")


def _mistyped() -> Column:
    """Name the first field of a record that differs from RFC 8428 or readings.md, or null."""
    cases = F.when(
        ~F.expr("schema_of_variant(record)").startswith("OBJECT<"), "a record is no JSON object"
    )
    for name, (json_type, _) in _FIELDS.items():
        found = F.expr(f"schema_of_variant(try_variant_get(record, '$.{name}', 'variant'))")
        cases = cases.when(
            ~found.rlike(_JSON_TYPES[json_type]), f"`{name}` of a record is no {json_type}"
        )
    return cases


def _resolved(typed: DataFrame) -> DataFrame:
    """Resolve base fields (RFC 8428 section 4.6): each holds for its record and all after it."""
    so_far = Window.partitionBy(*MESSAGE).orderBy("position")
    whole = Window.partitionBy(*MESSAGE)

    def base(name: str) -> Column:
        return F.last(f"senml_{name}", ignorenulls=True).over(so_far)

    name = F.concat(F.coalesce(base("bn"), F.lit("")), F.coalesce(F.col("senml_n"), F.lit("")))
    given = F.coalesce(base("bt"), F.lit(0.0)) + F.coalesce(F.col("senml_t"), F.lit(0.0))
    # RFC 8428 section 4.5.3: a time below 2**28 is relative to now; now is when it was delivered.
    received = F.col("time").cast("double")
    seconds = F.when(given < _RELATIVE_SECONDS_MAX, received + given).otherwise(given)
    has_other = F.coalesce("senml_vs", "senml_vd", F.col("senml_vb").cast("string")).isNotNull()
    alone = ~has_other & F.col("senml_s").isNull()
    value = F.when(
        F.col("senml_v").isNotNull(), F.coalesce(base("bv"), F.lit(0.0)) + F.col("senml_v")
    ).when(alone, base("bv"))
    total = F.when(
        F.col("senml_s").isNotNull(), F.coalesce(base("bs"), F.lit(0.0)) + F.col("senml_s")
    )
    resolved = (
        typed.withColumn("name", name)
        .withColumn("unit", F.coalesce("senml_u", base("bu")))
        .withColumn("seconds", seconds)
        .withColumn("value", value)
        .withColumn("sum", total)
    )
    checked = resolved.withColumn("wrong_record", _wrong_record())
    wrong = F.coalesce("wrong_pack", F.min("wrong_record").over(whole))
    elsewhere = F.max(_is_elsewhere()).over(whole) & wrong.isNull()
    return checked.withColumn("is_elsewhere", elsewhere).withColumn(
        "wrong",
        F.when(elsewhere, "the topic is not sensors/<its device>/<its quantity>").otherwise(wrong),
    )


def _is_elsewhere() -> Column:
    """Return whether a record that names its device has the topic of another device, or of
    another quantity (docs/formats/readings.md): its numbers are then not trusted.

    A sentence of NMEA 0183 is one quantity, with a name for each of its fields below that.
    """
    levels = F.split("topic", "/", -1)
    is_own_topic = (
        (F.size(levels) == 3)
        & (F.get(levels, F.lit(0)) == "sensors")
        & (F.get(levels, F.lit(1)) == F.col("senml_device"))
    )
    own_name = F.concat(F.col("senml_device"), F.lit("/"), F.get(levels, F.lit(2)))
    is_own_name = (F.col("name") == own_name) | F.startswith("name", F.concat(own_name, F.lit("/")))
    is_named = F.col("senml_device").isNotNull()
    return is_named & ~F.coalesce(is_own_topic & is_own_name, F.lit(False))


def _wrong_record() -> Column:
    values = [F.col(name).isNotNull().cast("int") for name in ("value", "senml_vs", "senml_vb")]
    count = values[0] + values[1] + values[2] + F.col("senml_vd").isNotNull().cast("int")
    numbers = F.coalesce("value", F.lit(0.0)) + F.coalesce("sum", F.lit(0.0))
    return (
        F.when(F.col("wrong_pack").isNotNull(), F.lit(None))
        .when(F.col("wrong_field").isNotNull(), F.col("wrong_field"))
        .when(F.col("name") == "", "a record has no name")
        .when(count > 1, "a record has more than one value")
        .when((count == 0) & F.col("sum").isNull(), "a record has no value")
        .when(F.isnan(numbers) | (F.abs(numbers) == float("inf")), "a number is out of range")
        .when(~F.col("seconds").between(0, 253_402_300_799), "a time is out of range")
    )

"""Base fields and rules of SenML packs (arrays of records), applied to Arrow columns.

For each pack in the result, `senml_pack` would return the same records. A pack is omitted if one of
its records is invalid or cannot be checked here.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cloud_jobs.ingest.numbering import counted
from cloud_jobs.ingest.senml_pack import (
    BASES,
    RELATIVE_SECONDS_MAX,
    SECONDS_MAX,
    TYPES,
    is_elsewhere,
)
from cloud_jobs.limits import CHARACTERS_TOGETHER_MAX, PACK_CHARACTERS_MAX

ARROW_TYPES: Final = {
    "text": pa.string(),
    "number": pa.float64(),
    "integer": pa.int64(),
    "truth": pa.bool_(),
}
"""Arrow types of fields, by their kind."""

RESOLVED: Final = pa.schema(
    [
        ("source", pa.int64()),
        ("position", pa.int64()),
        ("senml_device", pa.string()),
        ("senml_boot", pa.int64()),
        ("senml_sequence", pa.int64()),
        ("name", pa.string()),
        ("unit", pa.string()),
        ("seconds", pa.float64()),
        ("value", pa.float64()),
        ("senml_vs", pa.string()),
        ("senml_vb", pa.bool_()),
        ("senml_vd", pa.string()),
        ("sum", pa.float64()),
    ]
)
"""Columns of a resolved record. `source` is the number of its message; the others are those of
RECORDS."""

Columns = dict[str, pa.Array]


def resolved(
    sources: pa.Int64Array, packs: pa.ListArray, topics: pa.StringArray, received: pa.Int64Array
) -> pa.RecordBatch:
    """Return the records of packs that break no rule, as rows of the schema RESOLVED.

    Args:
        sources: the index of the message that each pack comes from.
        packs: one list of records for each pack. Fields that no record has may be missing.
        topics: topics of the messages.
        received: times of delivery, in microseconds since 1970, less than 2**53.
    """
    of = pc.list_parent_indices(packs)
    records = packs.flatten()
    given = {field.name for field in records.type}
    fields = {
        name: records.field(name) if name in given else pa.nulls(len(of), ARROW_TYPES[kind])
        for name, kind in TYPES.items()
    }
    position = _positions(packs, of)
    base = _bases(fields, position)
    is_short = _are_short(fields, base, pc.list_value_length(packs).take(of), topics, of)
    found = {
        "source": sources.take(of),
        "position": position,
        "senml_device": fields["device"],
        "senml_boot": fields["boot"],
        "senml_sequence": fields["sequence"],
        **_texts(fields, base, is_short),
        **_numbers(fields, base, received.take(of)),
        "senml_vs": fields["vs"],
        "senml_vb": fields["vb"],
        "senml_vd": fields["vd"],
    }
    is_good = pc.and_(is_short, _are_valid(found))
    is_good = pc.and_(is_good, pc.invert(_are_elsewhere(found, topics, of)))
    batch = pa.record_batch([found[name] for name in RESOLVED.names], RESOLVED)
    if pc.all(is_good).as_py() in (True, None):
        return batch
    is_bad = pc.is_in(of, value_set=of.filter(pc.invert(is_good)))
    return batch.filter(pc.invert(is_bad))


def _positions(packs: pa.ListArray, of: pa.Int64Array) -> pa.Int64Array:
    """Return the position of each record in its SenML pack (array).

    `of` contains, for each record, the index of its pack.
    """
    starts = pc.subtract(packs.offsets, packs.offsets[0]).cast(pa.int64())
    return pc.subtract(counted(len(of)), starts.take(of))


def _bases(fields: Columns, position: pa.Int64Array) -> Columns:
    """For each base field, find the row that contains the base value of each record.

    A record takes the value from its own row, or else from the nearest earlier record of its pack
    that has the base field (RFC 8428 section 4.6). If there is no such record, the result is the
    row of the pack's first record, where the value is null.
    """
    number = counted(len(position))
    is_first = pc.equal(position, 0)
    found = {}
    for name in BASES:
        values = fields[name]
        if values.null_count == len(values):
            found[name] = number
        else:
            starts = pc.if_else(pc.or_(is_first, pc.is_valid(values)), number, None)
            found[name] = pc.fill_null_forward(starts)
    return found


def _are_short(
    fields: Columns, base: Columns, records: pa.Int32Array, topics: pa.StringArray, of: pa.Array
) -> pa.BooleanArray:
    """For each record, return True if it is short enough to be processed.

    Applying base fields copies a base name into each record of a pack, so long names could fill the
    memory. A record's length is that of its base name, name, unit and topic. Multiplied by the
    number of records in the pack, it must be at most PACK_CHARACTERS_MAX. If all short records
    together are longer than CHARACTERS_TOGETHER_MAX, return False for all of them.
    """
    length = {name: pc.utf8_length(fields[name]) for name in ("bn", "n", "bu", "u")}
    unit = pc.coalesce(length["u"], length["bu"].take(base["bu"]))
    every = (length["bn"].take(base["bn"]), length["n"], unit, pc.utf8_length(topics).take(of))
    characters = reduce(pc.add, (pc.fill_null(one, 0).cast(pa.int64()) for one in every))
    is_short = pc.less_equal(pc.multiply(characters, records), PACK_CHARACTERS_MAX)
    if (pc.sum(characters.filter(is_short)).as_py() or 0) > CHARACTERS_TOGETHER_MAX:
        return pc.and_(is_short, False)
    return is_short


def _texts(fields: Columns, base: Columns, is_short: pa.BooleanArray) -> Columns:
    """Return the names and units of records, with the base name and the base unit applied.

    These base values are applied only to records for which `is_short` is True.
    """
    at = {name: pc.if_else(is_short, base[name], None) for name in ("bn", "bu")}
    own = pc.fill_null(fields["n"], "")
    if fields["bn"].null_count < len(own):
        before = pc.fill_null(fields["bn"].take(at["bn"]), "")
        own = pc.binary_join_element_wise(before, own, "")
    return {"name": own, "unit": pc.coalesce(fields["u"], fields["bu"].take(at["bu"]))}


def _numbers(fields: Columns, base: Columns, received: pa.Int64Array) -> Columns:
    """Return times, values and sums of records. Negative zero becomes zero, as in `senml_pack`."""
    held = {name: fields[name].take(base[name]) for name in ("bt", "bv", "bs")}
    number = {name: pc.add(pc.fill_null(column, 0.0), 0.0) for name, column in held.items()}
    time = pc.add(number["bt"], pc.fill_null(fields["t"], 0.0))
    now = pc.divide(received.cast(pa.float64()), 1_000_000.0)
    others = [pc.is_valid(fields[name]) for name in ("vs", "vb", "vd", "s")]
    is_base = pc.and_not(pc.is_valid(held["bv"]), reduce(pc.or_, others))
    alone = pc.if_else(is_base, number["bv"], None)
    return {
        "seconds": pc.if_else(pc.less(time, RELATIVE_SECONDS_MAX), pc.add(now, time), time),
        "value": pc.coalesce(pc.add(number["bv"], fields["v"]), alone),
        "sum": pc.add(number["bs"], fields["s"]),
    }


def _are_valid(found: Columns) -> pa.BooleanArray:
    """For each record, return True if it is valid.

    A valid record has a name, one value or a sum, and numbers that are in range.
    """
    values = [pc.is_valid(found[name]) for name in ("value", "senml_vs", "senml_vb", "senml_vd")]
    count = reduce(pc.add, (one.cast(pa.int8()) for one in values))
    has_sum = pc.is_valid(found["sum"])
    number = pc.add(pc.fill_null(found["value"], 0.0), pc.fill_null(found["sum"], 0.0))
    rules = (
        pc.greater(pc.binary_length(found["name"]), 0),
        pc.or_(pc.equal(count, 1), pc.and_(pc.equal(count, 0), has_sum)),
        pc.is_finite(number),
        pc.greater_equal(found["seconds"], 0),
        pc.less_equal(found["seconds"], SECONDS_MAX),
    )
    return reduce(pc.and_, rules)


def _are_elsewhere(found: Columns, topics: pa.StringArray, of: pa.Array) -> pa.BooleanArray:
    """For each record, return True if its topic names a different device or quantity.

    The result is False for records without a device. Each combination of device, name and topic is
    checked once, because there are usually few.
    """
    device, name = (found[column].dictionary_encode() for column in ("senml_device", "name"))
    topic = topics.dictionary_encode(null_encoding="encode")
    codes = device.indices.cast(pa.int64())
    for other, at in ((name, name.indices), (topic, topic.indices.take(of))):
        codes = pc.add_checked(pc.multiply_checked(codes, len(other.dictionary)), at)
    devices, names, of_topics = (one.dictionary.to_pylist() for one in (device, name, topic))
    levels = [(text or "").split("/") for text in of_topics]
    wrong = []
    for code in pc.unique(codes.drop_null()).to_pylist():
        rest, at_topic = divmod(code, len(levels))
        at_device, at_name = divmod(rest, len(names))
        if is_elsewhere(devices[at_device], names[at_name], levels[at_topic]):
            wrong.append(code)
    return pc.is_in(codes, value_set=pa.array(wrong, pa.int64()))

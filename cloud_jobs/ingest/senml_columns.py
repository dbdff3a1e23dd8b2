"""Parser that converts many SenML payloads together to Arrow columns.

`senml_pack` defines the correct result for a payload. This module parses only payloads for which it
is certain to produce the same result: SenML packs (arrays) of flat objects with known fields and
simple strings, as gateways send them. All other payloads, including invalid ones, must be parsed by
`senml_pack`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from cloud_jobs.ingest.senml_pack import TYPES
from cloud_jobs.ingest.senml_rules import ARROW_TYPES, resolved
from cloud_jobs.limits import PACK_BYTES_MAX, PACKS_TOGETHER_MAX

_PACKS_OF_A_PART: Final = 512
"""Number of packs that are omitted together if one of them cannot be parsed."""
_SAMPLE: Final = 128
"""Number of packs that are searched for field names. A column for a field that does not occur takes
as long to parse as any other."""
_EXACT_MICROSECONDS: Final = 2**53
"""Below this value each integer has an exact float."""

# Values that Python's and Arrow's parser read alike: strings without surrogates, finite numbers,
# and 64-bit integers.
_ESCAPED: Final = r'\\(?:["\\/bfnrt]|u(?:[0-9a-cefA-CEF][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})'
_TEXT: Final = rf'"(?:[^"\\\x00-\x1f]|{_ESCAPED})*"'
_INTEGER: Final = r"(?:0|-?[1-9][0-9]{0,17})"
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
_VALUES: Final = {
    "text": _TEXT,
    "integer": _INTEGER,
    "number": _NUMBER,
    "truth": "(?:true|false)",
}
_FIELD: Final = "(?:{})".format(
    "|".join(
        '"(?:{})": *{}'.format("|".join(name for name in TYPES if TYPES[name] == kind), value)
        for kind, value in _VALUES.items()
    )
)
_RECORD: Final = rf"\{{{_FIELD}(?:, *{_FIELD})*\}}"
_PACK: Final = rf"\A\[{_RECORD}(?:, *{_RECORD})*\]\z"


def records_in_columns(
    payloads: pa.StringArray, topics: pa.StringArray, received: pa.Int64Array
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the payloads that could be parsed, as rows of senml_rules.RESOLVED.

    Args:
        payloads: payloads of the messages.
        topics: topics of the messages.
        received: times of delivery, in microseconds since 1970.
    """
    is_exact = pc.less(pc.abs_checked(received), _EXACT_MICROSECONDS)
    is_small = pc.less_equal(pc.binary_length(payloads), PACK_BYTES_MAX)
    is_plain = pc.match_substring_regex(payloads, _PACK)
    plain = pc.indices_nonzero(pc.and_(pc.and_(is_exact, is_small), is_plain)).cast(pa.int64())
    names = _names_in(payloads.take(plain[:_SAMPLE])) if len(plain) > 16 * _SAMPLE else [*TYPES]
    for start in range(0, len(plain), PACKS_TOGETHER_MAX):
        chosen, packs = _parsed(payloads, plain[start : start + PACKS_TOGETHER_MAX], names)
        yield resolved(chosen, packs, topics.take(chosen), received.take(chosen))


def _names_in(payloads: pa.StringArray) -> list[str]:
    """Return the names of the fields that occur in payloads.

    If the payloads cannot be parsed together, return all known field names.
    """
    try:
        records = _parse(payloads, [*TYPES]).flatten()
    except pa.ArrowException:
        return [*TYPES]
    return [name for name in TYPES if records.field(name).null_count < len(records)]


def _parsed(
    payloads: pa.StringArray, chosen: pa.Int64Array, names: list[str]
) -> tuple[pa.Int64Array, pa.ListArray]:
    """Parse the payloads with the indices in `chosen`, expecting the fields in `names`.

    If this fails, for example because a payload contains another field, parse the payloads in small
    groups with all known fields. Groups that fail again are omitted. Return the indices of the
    parsed payloads, and a list of records for each.
    """
    try:
        return chosen, _parse(payloads.take(chosen), names)
    except pa.ArrowException:
        parts = []
    for start in range(0, len(chosen), _PACKS_OF_A_PART):
        part = chosen[start : start + _PACKS_OF_A_PART]
        with suppress(pa.ArrowException):
            parts.append((part, _parse(payloads.take(part), [*TYPES])))
    if not parts:
        return chosen[:0], _parse(payloads[:0], names)
    numbers, packs = zip(*parts, strict=True)
    return pa.concat_arrays(numbers), pa.concat_arrays(packs)


def _parse(payloads: pa.StringArray, names: list[str]) -> pa.ListArray:
    """Parse payloads that match `_PACK` with Arrow's JSON parser, one payload per line.

    The pattern excludes line ends within a payload. Raises ArrowException if a payload is invalid.
    """
    kind = pa.list_(pa.struct([(name, ARROW_TYPES[TYPES[name]]) for name in names]))
    if not len(payloads):
        return pa.array([], kind)
    every = pa.ListArray.from_arrays(pa.array([0, len(payloads)], pa.int32()), payloads)
    joined = pc.binary_join(every, '}\n{"r":')[0]
    lines = pc.binary_join_element_wise('{"r":', joined, "}\n", "").as_buffer()
    table = arrow_json.read_json(
        pa.BufferReader(lines),
        arrow_json.ReadOptions(use_threads=False, block_size=lines.size + 1),
        arrow_json.ParseOptions(
            explicit_schema=pa.schema([("r", kind)]),
            newlines_in_values=False,
            unexpected_field_behavior="error",
        ),
    )
    if table.num_rows != len(payloads):
        raise pa.ArrowInvalid("not a row for each payload")
    return table.column("r").combine_chunks()

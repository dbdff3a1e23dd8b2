"""Queries of tables in a directory, answered in this process.

DataFusion, which the library `deltalake` has with it, answers in milliseconds what Spark plans for
some tenths of a second. A query is written once, in the SQL that both have in common: see
`delta_tables.Tables.query`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from cloud_jobs.limits import ROWS_AT_A_TIME
from cloud_jobs.tables.adding import explained, opened

if TYPE_CHECKING:
    from deltalake import DeltaTable

Value: TypeAlias = str | int | bool | None
Values: TypeAlias = Value | Sequence[Value] | Sequence[str] | Sequence[tuple[Value, ...]]
"""A value, a list of them in parentheses (behind IN), or rows (behind VALUES)."""

READER_VERSION_MAX: Final = 1
"""Of Delta's protocol: later ones may have rows that are deleted beside the files."""
_NAMED: Final = re.compile(r"\{(?P<table>[\w/]+)\}|:(?P<value>[a-z]\w*)")


def tables_in(sql: str) -> list[str]:
    """Return the names of the tables that a query reads: those in braces."""
    return list(dict.fromkeys(found["table"] for found in _NAMED.finditer(sql) if found["table"]))


def rendered(
    sql: str,
    values: Mapping[str, Values],
    name_of: Callable[[str], str],
    quote: Callable[[str], str],
) -> str:
    """Return a query with the names of an engine's tables, and its literals for `:name`."""

    def named(found: re.Match[str]) -> str:
        if found["table"]:
            return name_of(found["table"])
        return _literal(values[found["value"]], quote)

    return _NAMED.sub(named, sql)


def _literal(value: Values, quote: Callable[[str], str]) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool | int):
        return str(value).upper()
    members = [
        f"({', '.join(_literal(one, quote) for one in member)})"
        if isinstance(member, tuple)
        else _literal(member, quote)
        for member in value
    ]
    # Nothing is in a list that has no value: IN () is no SQL.
    listed = ", ".join(members) or "NULL"
    return listed if value and isinstance(value[0], tuple) else f"({listed})"


def quoted_text(text: str) -> str:
    """Return a text as a literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def readable(path: str) -> DeltaTable | None:
    """Open a table that can be read without Spark, else return None. Raises IngestError."""
    table = opened(path)
    if table is None or table.protocol().min_reader_version > READER_VERSION_MAX:
        return None
    return table


def answer(
    sql: str,
    tables: Mapping[str, DeltaTable],
    values: Mapping[str, Values],
    rows_at_a_time: int = ROWS_AT_A_TIME,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query. Raises IngestError."""
    from deltalake import QueryBuilder  # noqa: PLC0415 - 0.1 s that other commands do not need

    names = {name: name.replace("/", "_") for name in tables}
    text = rendered(sql, values, names.__getitem__, quoted_text)
    builder = QueryBuilder({"datafusion.execution.batch_size": str(rows_at_a_time)})
    for name, table in tables.items():
        builder.register(names[name], table)
    with explained(", ".join(table.table_uri for table in tables.values())):
        yield from pa.RecordBatchReader.from_stream(builder.execute(text))

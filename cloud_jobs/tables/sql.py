"""Rendering of SQL queries: inserts table names and values. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

Value: TypeAlias = str | int | bool | None
Values: TypeAlias = Value | Sequence[Value] | Sequence[str] | Sequence[tuple[Value, ...]]
"""A value, a list of them in parentheses (after IN), or rows (after VALUES)."""


class Queryable(Protocol):
    """Tables that answer SQL: with Spark, with DataFusion or in memory."""

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query (`Tables.query`)."""


_NAMED: Final = re.compile(r"\{(?P<table>[\w/]+)\}|:(?P<value>[a-z]\w*)")


def rendered(
    sql: str,
    values: Mapping[str, Values],
    name_of: Callable[[str], str],
    quote: Callable[[str], str],
) -> str:
    """Replace each `{table}` by its name in the engine, and each `:name` by a literal value."""

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
    # An empty list contains no value, and IN () is no SQL.
    listed = ", ".join(members) or "NULL"
    return listed if value and isinstance(value[0], tuple) else f"({listed})"


def quoted_text(text: str) -> str:
    """Return a text as a literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"

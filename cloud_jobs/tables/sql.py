"""Renders SQL queries by inserting table names and values into a template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

Value: TypeAlias = str | int | bool | None
Values: TypeAlias = Value | Sequence[Value] | Sequence[str] | Sequence[tuple[Value, ...]]
"""A single value, a list for use after IN, or rows for use after VALUES."""


class Queryable(Protocol):
    """Interface of tables that can be queried with SQL: by Spark, by DataFusion or in memory."""

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query. The parameters are the same as for `Tables.query`."""


_NAMED: Final = re.compile(r"\{(?P<table>[\w/]+)\}|:(?P<value>[a-z]\w*)")


def rendered(
    sql: str,
    values: Mapping[str, Values],
    name_of: Callable[[str], str],
    quote: Callable[[str], str],
) -> str:
    """Replace each `{table}` with the result of `name_of`, and each `:name` with a literal.

    `name_of` returns the name that a table has in the query engine. `quote` converts a string to a
    literal in the SQL dialect of the engine.
    """

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
    # An empty list contains no value. IN () is not valid SQL.
    listed = ", ".join(members) or "NULL"
    return listed if value and isinstance(value[0], tuple) else f"({listed})"


def quoted_text(text: str) -> str:
    """Return a string as a literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"

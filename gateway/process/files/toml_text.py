"""Converts tables to TOML text, because Python's standard library can only read TOML."""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any


def text_of(tables: Mapping[str, Any]) -> str:
    """Return the text of a TOML file that contains the given tables, in the given order.

    `tables` has the form `{"api": {"port": 80}, "serial": [{"name": "gps"}]}`.

    Raises TypeError if TOML cannot store a value, such as None.
    """
    return "\n".join(_lines_of(tables)) + "\n"


def text_of_keys(table: Mapping[str, Any]) -> str:
    """Return the keys and values of one table as lines of TOML."""
    return "".join(f"{line}\n" for line in _pairs_of(table))


def _lines_of(tables: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        if isinstance(table, Mapping):
            yield f"[{_key(name)}]"
            yield from _pairs_of(table)
            yield ""
        else:
            for each in table:
                yield f"[[{_key(name)}]]"
                yield from _pairs_of(each)
                yield ""


def _pairs_of(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_value(value)}"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    if value is None:
        raise TypeError("TOML has no null")
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    # JSON's strings, numbers and Booleans are valid TOML, with two exceptions. JSON escapes a
    # character beyond U+FFFF as two halves, which TOML rejects, and it does not escape the control
    # character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

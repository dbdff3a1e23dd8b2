"""Messages for mistakes in a configuration: one line each, with the fix.

`lines_of` formats pydantic's errors as lines of this form::

    gateway.toml: [mqtt] max_inflight = -1 is not allowed: use a whole number from 0 to 65535

Each key's annotation describes the values that the key allows.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.configuration.misplaced import (
    LISTS,
    OTHER_NAMES,
    near_miss_of,
    section_of,
    sections_in,
)
from gateway.configuration.mosquitto_keys import meaning_of
from gateway.configuration.serial_port import DEFAULT_FRAMING, Serial
from gateway.configuration.whole import Configuration
from gateway.process.declarations.protocol import Protocols
from gateway.process.declarations.section import Section, fields_of, keys_of

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_SHOWN_CHARACTERS_MAX = 60
SECRET_KEYS = frozenset(
    {"username", "password_file", "local_username", "local_password_file", "target"}
)
"""Keys whose values are not shown: user names, URLs with credentials, and paths of password files.
People sometimes write the password itself in place of the path."""
_ALLOWED = {
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "too_short": "at least one",
    "tuple_type": 'a list in brackets, like ["a", "b"]',
    "model_type": "a table of keys and values",
    "dict_type": "a table of keys and values",
}

Location = Sequence[int | str]


class ConfigurationError(Exception):
    """Error raised for an invalid configuration. `problems` has one line for each mistake."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


@dataclass(frozen=True, slots=True)
class Written:
    """A configuration before validation: its tables, and where each value was set.

    `protocols` contains the settings class of each serial protocol.
    """

    tables: Mapping[str, Any]
    source_of: Callable[[Location], str]
    protocols: Protocols

    def framing_at(self, location: Location) -> str:
        """Return the protocol (`framing`) of the `[[serial]]` table that contains `location`."""
        framing: str = self.tables[str(location[0])][location[1]].get("framing", DEFAULT_FRAMING)
        return framing


def lines_of(error: "ValidationError", written: Written) -> list[str]:
    """Return one message for each of pydantic's errors."""
    return [
        _line_of(details, written)
        for details in error.errors()
        # If all tables of a list are wrong, pydantic also reports the list as empty. The tables
        # have messages of their own.
        if details["type"] != "too_short" or not details["input"]
    ]


def shown(value: object) -> str:
    """Return a value as JSON if possible, truncated to fit on one line of an error message."""
    if isinstance(value, Path):
        value = str(value)
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError):
        text = ascii(value)
    too_long = len(text) > _SHOWN_CHARACTERS_MAX
    return text[: _SHOWN_CHARACTERS_MAX - 3] + "..." if too_long else text


def section_at(name: str) -> type[Section]:
    """Return the class of the section `name`.

    For a list of tables, return the class of one table.
    """
    types: dict[str, Any] = {each.name: each.type for each in fields_of(Configuration)} | LISTS
    section: type[Section] = types[name]
    return section


def suggestion(
    unknown: str,
    known: Iterable[str],
    *,
    likeness: float = 0.6,
    elsewhere: Protocols | None = None,
) -> str:
    """Return a hint for an unknown key: the key that is meant, or else all known keys.

    Args:
        unknown: the unknown key.
        known: the keys that are known in this place.
        likeness: minimum similarity of a suggested key, from 0 (any) to 1 (equal).
        elsewhere: the serial protocols. If they are given, the hint can also name a key of a
            protocol or of another section.
    """
    names = sorted(known)
    for meant in OTHER_NAMES.get(unknown, ()):
        if meant in names:
            return f'did you mean "{meant}"?'
    if elsewhere is not None and (meaning := meaning_of(unknown)) is not None:
        return meaning
    if elsewhere is not None and (home := section_of(unknown, elsewhere)) is not None:
        return home
    import difflib  # noqa: PLC0415 - only for an error message

    nearest = difflib.get_close_matches(unknown, names, n=1, cutoff=likeness)
    if nearest:
        return f'did you mean "{nearest[0]}"?'
    if elsewhere is not None and (near := near_miss_of(unknown, elsewhere)) is not None:
        return near
    return f"known are {', '.join(names)}"


def place_of(location: Location) -> str:
    """Format `("mqtt", "max_inflight")` as `[mqtt] max_inflight`.

    `("listeners", 1, "port")` becomes `[[listeners]] (2nd) port`.
    """
    if not location:
        return "the configuration"
    section, *rest = location
    if _is_of_protocol(location):
        # In the file these keys are in the table of the serial port.
        del rest[1]
    if section in LISTS and rest and isinstance(rest[0], int):
        head = f"[[{section}]] ({_ordinal(rest[0] + 1)})"
        rest = rest[1:]
    elif len(location) == 1:
        return f"[[{section}]]" if section in LISTS else f"[{section}]"
    else:
        head = f"[{section}]"
    return " ".join([head, ".".join(str(part) for part in rest)]).strip()


def _is_of_protocol(location: Location) -> bool:
    return len(location) > 2 and location[0] == "serial" and location[2] == "protocol"


def _line_of(details: "ErrorDetails", written: Written) -> str:
    location, kind, value = details["loc"], details["type"], details["input"]
    source = written.source_of(location)
    # A key of the protocol itself, not of a table within its settings.
    if _is_of_protocol(location) and len(location) == 4 and kind in ("extra_forbidden", "missing"):
        return f"{source}: {_line_of_protocol(location, kind, written)}"
    if kind == "extra_forbidden":
        key, table = str(location[-1]), _table_at(location[:-1], written)
        fix = suggestion(key, keys_of(table), elsewhere=written.protocols)
        what = "section" if len(location) == 1 else "key"
        return f"{source}: {place_of(location)} is not a {what} of this version: {fix}"
    if kind == "missing":
        return f"{source}: {place_of(location)} is missing: every such table needs it"
    allowed = _allowed_of(details, written)
    if not location:
        return f"{source}: use {allowed}"
    if kind == "not_allowed" and isinstance(value, dict):
        return f"{source}: {place_of(location)}: use {allowed}"
    given = f"{place_of(location)} = {shown(value)}"
    if location[-1] in SECRET_KEYS:
        given = f"the value of {place_of(location)}"
    return f"{source}: {given} is not allowed: use {allowed}"


def _table_at(location: Location, written: Written) -> type[Section]:
    """Return the section class that declares the keys of the table at a location."""
    if not location:
        return Configuration
    section, within = section_at(str(location[0])), location[1:]
    if _is_of_protocol(location):
        section, within = written.protocols[written.framing_at(location)], location[3:]
    for name in (each for each in within if isinstance(each, str)):
        types = {each.name: each.type for each in fields_of(section)}
        section, _ = next(sections_in(types[name]))
    return section


def _line_of_protocol(location: Location, kind: str, written: Written) -> str:
    """Return the message for a missing or unknown key of a serial protocol.

    The allowed keys depend on `framing`.
    """
    framing, key = written.framing_at(location), str(location[-1])
    own = written.protocols[framing]
    if kind == "missing":
        fix = f'use {key} with framing = "{framing}": {own.descriptions[key]}'
        return f"{place_of(location[:2])}: {fix}"
    others = [name for name, each in written.protocols.items() if key in keys_of(each)]
    if others:
        belongs = " or ".join(f'"{name}"' for name in others)
        fix = f"use {key} with framing = {belongs} only"
        return f"{place_of(location[:2])}: {fix}"
    known = (*keys_of(Serial), *keys_of(own))
    fix = suggestion(key, known, elsewhere=written.protocols)
    return f"{place_of(location)} is not a key of this version: {fix}"


def _allowed_of(details: "ErrorDetails", written: Written) -> str:
    kind, context, location = details["type"], details.get("ctx", {}), details["loc"]
    if kind == "not_allowed":
        return str(context["allowed"])
    if kind == "literal_error":
        return str(context["expected"]).replace("'", '"')
    if kind == "tuple_type" and _is_list_of_tables(location, written):
        names = [str(each) for each in location if isinstance(each, str) and each != "protocol"]
        return f"[[{'.'.join(names)}]], with two brackets, for each of its tables"
    return _ALLOWED.get(kind, details["msg"])


def _is_list_of_tables(location: Location, written: Written) -> bool:
    if len(location) == 1:
        return location[0] in LISTS
    types = {each.name: each.type for each in fields_of(_table_at(location[:-1], written))}
    return any(is_list for _, is_list in sections_in(types.get(str(location[-1]))))


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number if number < 20 else number % 10, "th")
    return f"{number}{ending}"

"""Messages that name the right section for a key that is written in the wrong section."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args, get_origin

from gateway.configuration.listener import Listener
from gateway.configuration.queue import Queue
from gateway.configuration.quotas import UserQuota
from gateway.configuration.serial_port import Serial
from gateway.configuration.whole import Configuration
from gateway.process.declarations.protocol import Protocols
from gateway.process.declarations.section import Section, fields_of, keys_of

LISTS: dict[str, type[Section]] = {
    "listeners": Listener,
    "queues": Queue,
    "user_quotas": UserQuota,
    "serial": Serial,
}
"""Sections that are lists of tables, with the class of a table."""

OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "address": ("at",),
    "allow_anonymous": ("anonymous",),
    "broker": ("address",),
    "function": ("kind",),
    "host": ("address", "bind", "broker"),
    "port": ("path", "broker"),
    "protocol": ("framing",),
    "register": ("at",),
    "slave": ("address",),
    "topic": ("topics", "filter"),
    "unit_id": ("address",),
}
"""Names that other programs give to keys, with the keys that are meant in one table or another."""

_NAMED_MAX = 4
"""Maximum number of sections in a message. If more sections have the key, as for `ca`, none of them
is likely to be meant."""
_LIKENESS = 0.8
"""Minimum similarity of a misspelled key to a known one, from 0 (any) to 1 (equal). It is strict,
because other sections have hundreds of keys."""


def section_of(key: str, protocols: Protocols) -> str | None:
    """Return a phrase that names the right section for `key`.

    Return None if no section has the key, or if too many sections have it.
    """
    for each in fields_of(Configuration):
        if key == each.name:
            return f"{_written(key)} is a section of its own"
    homes = _homes_of(key, dict(_tables(protocols)))
    return f"{key} belongs in {_either(homes)}" if homes else None


def near_miss_of(key: str, protocols: Protocols) -> str | None:
    """Return a phrase that suggests a similarly spelled key and its section.

    Return None if no key is similar enough.
    """
    import difflib  # noqa: PLC0415 - only for an error message

    tables = dict(_tables(protocols))
    every = sorted({each for keys in tables.values() for each in keys})
    for near in difflib.get_close_matches(key, every, n=1, cutoff=_LIKENESS):
        if homes := _homes_of(near, tables):
            return f'did you mean "{near}" in {_either(homes)}?'
    return None


def _homes_of(key: str, tables: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return the names of the tables in which `key` is allowed.

    If there are too many tables to name in a message, return an empty tuple.
    """
    found = tuple(table for table, keys in tables.items() if key in keys)
    return found if len(found) <= _NAMED_MAX else ()


def _tables(protocols: Protocols) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each table that a file can contain, with the keys that the table allows.

    The table of a serial port allows the keys of all protocols.
    """
    for each in fields_of(Configuration):
        section: Any = LISTS.get(each.name, each.type)
        keys = {*keys_of(section)}
        if section is Serial:
            keys = keys.union(*map(keys_of, protocols.values()))
        yield _written(each.name), keys
        yield from _tables_within(each.name, section)


def _tables_within(path: str, section: type[Section]) -> Iterator[tuple[str, set[str]]]:
    for each in fields_of(section):
        for inner, is_list in sections_in(each.type):
            name = f"{path}.{each.name}"
            yield (f"[[{name}]]" if is_list else f"[{name}]"), {*keys_of(inner)}
            yield from _tables_within(name, inner)


def sections_in(
    written_type: Any, *, is_list: bool = False
) -> Iterator[tuple[type[Section], bool]]:
    """Yield each section class in a key's type, with a flag.

    The flag is True if the class is part of a list, otherwise False.
    """
    if isinstance(written_type, type) and issubclass(written_type, Section):
        yield written_type, is_list
    is_list = is_list or get_origin(written_type) is tuple
    for part in get_args(written_type):
        yield from sections_in(part, is_list=is_list)


def _either(tables: tuple[str, ...]) -> str:
    return " or ".join(part for part in (", ".join(tables[:-1]), tables[-1]) if part)


def _written(section: str) -> str:
    return f"[[{section}]]" if section in LISTS else f"[{section}]"

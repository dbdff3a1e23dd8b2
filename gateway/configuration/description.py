"""Every key of the configuration as people write it, for showing and for checking the
documentation."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from gateway.configuration.problems import shown
from gateway.configuration.quantities import Quantity, is_never
from gateway.configuration.sections import Configuration, Section, keys_of


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `name` as `[section] key`, its value as a file would have it, whether it was
    given."""

    name: str
    text: str
    is_set: bool


def keys(configuration: Configuration) -> Iterator[Key]:
    """All keys in the order of the sections; those of lists of tables once for each table."""
    for section in keys_of(Configuration):
        value = getattr(configuration, section)
        if isinstance(value, Section):
            yield from _keys_of(f"[{section}]", value)
            continue
        for number, table in enumerate(value, start=1):
            yield from _keys_of(f"[[{section}]] {number}", table)


def text_of(key: Field[Any], value: Any) -> str:
    """A key's value as a file would have it; `-` where there is none."""
    quantity = next((note for note in _notes_of(key.type) if isinstance(note, Quantity)), None)
    if quantity is not None and (value is not None or is_never(quantity)):
        text = quantity.text_of(value)
        return text if isinstance(value, int) and text == str(value) else f'"{text}"'
    if value is None:
        return "-"
    return shown(str(value) if isinstance(value, Path) else value)


def _keys_of(prefix: str, section: Section) -> Iterator[Key]:
    known = keys_of(type(section))
    for key in fields(section):
        if key.name in known:
            text = text_of(key, getattr(section, key.name))
            yield Key(f"{prefix} {key.name}", text, key.name in section.given)


def _notes_of(written: Any) -> Iterator[Any]:
    """What `Annotated` says of a type, also where it stands beside None."""
    for part in get_args(written) if get_origin(written) in (Union, UnionType) else (written,):
        yield from getattr(part, "__metadata__", ())

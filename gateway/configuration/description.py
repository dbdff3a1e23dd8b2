"""Describes all keys of a configuration as text, to display them or check the documentation."""

from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin

from gateway.configuration.problems import SECRET_KEYS, shown
from gateway.configuration.serial_port import Serial
from gateway.configuration.tenants import GATEWAY_SECTIONS
from gateway.configuration.whole import Configuration
from gateway.process.declarations.quantities import Quantity, is_never
from gateway.process.declarations.section import Section, fields_of, keys_of

MASK = "(set, not shown)"
"""Text shown instead of a secret."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the configuration and its value.

    `name` has the form `[section] key`. `text` is the value as written in a file, and `masked` is
    the same text with secrets masked. `source` is where the value was set (a file, an environment
    variable or the command line), or None for a default.
    """

    name: str
    text: str
    source: str | None
    masked: str

    @property
    def is_set(self) -> bool:
        """True if a configuration source sets the key. Otherwise, the value is the default."""
        return self.source is not None


def keys(configuration: Configuration) -> Iterator[Key]:
    """Yield all keys in the order of the sections, followed by the keys of tenants.

    Keys in a list of tables are yielded once per table.
    """
    yield from _keys_within(configuration, "")
    for name, tenant in configuration.tenants.items():
        yield from _keys_within(tenant, f"tenants.{name}.")


def _keys_within(configuration: Configuration, prefix: str) -> Iterator[Key]:
    for section, value in _sections_of(configuration):
        if isinstance(value, Section):
            yield from _keys_of(
                f"[{prefix}{section}]", value, partial(configuration.source_of, section)
            )
            continue
        for at, table in enumerate(value):
            source_of = partial(_source_of_table, configuration.source_of(section, at))
            yield from _keys_of(f"[[{prefix}{section}]] {at + 1}", table, source_of)


def tables(configuration: Configuration) -> dict[str, Any]:
    """Return every section as a dictionary of its keys.

    A list of tables becomes a list of dictionaries. If there are tenants, the key `tenants` maps
    each tenant's name to a dictionary of the same form.
    """
    found: dict[str, Any] = {
        section: table_of(value)
        if isinstance(value, Section)
        else [table_of(each) for each in value]
        for section, value in _sections_of(configuration)
    }
    if configuration.tenants:
        found["tenants"] = {name: tables(each) for name, each in configuration.tenants.items()}
    return found


def table_of(section: Section) -> dict[str, Any]:
    """Return a section as a dictionary of JSON values, in the same notation as in the file.

    The value of a key that is not set is None.
    """
    return {
        key.name: written_of(key, getattr(part, key.name))
        for part in _parts_of(section)
        for key in fields_of(type(part))
    }


def written_of(key: Field[Any], value: Any) -> Any:
    """Return a value as a JSON value, as it is written in the file, such as `"30s"`."""
    quantity = next((note for note in _notes_of(key.type) if isinstance(note, Quantity)), None)
    if quantity is not None and (value is not None or is_never(quantity)):
        text = quantity.text_of(value)
        return value if isinstance(value, int | float) and text == str(value) else text
    if isinstance(value, Section):
        return table_of(value)
    if isinstance(value, tuple):
        return [table_of(each) if isinstance(each, Section) else each for each in value]
    return value


def text_of(written: Any) -> str:
    """Return a JSON value as it is written in the file, or `-` if it is None."""
    if written is None:
        return "-"
    return f'"{written}"' if isinstance(written, str) else shown(written)


def _without_secrets(written: Any) -> Any:
    """Return a JSON value in which each secret is replaced by `MASK`."""
    if isinstance(written, dict):
        return {
            key: MASK if key in SECRET_KEYS and value is not None else _without_secrets(value)
            for key, value in written.items()
        }
    return [_without_secrets(each) for each in written] if isinstance(written, list) else written


def _sections_of(configuration: Configuration) -> Iterator[tuple[str, Any]]:
    sections = keys_of(Configuration)
    if configuration.tenant is not None:
        sections = tuple(each for each in sections if each not in GATEWAY_SECTIONS)
    return ((section, getattr(configuration, section)) for section in sections)


def _source_of_table(source: str, _: str | int | None) -> str:
    return source


def _keys_of(
    prefix: str, section: Section, source_of: Callable[[str | int | None], str]
) -> Iterator[Key]:
    for part in _parts_of(section):
        for key in fields_of(type(part)):
            written = written_of(key, getattr(part, key.name))
            source = source_of(key.name) if key.name in part.given else None
            masked = text_of(_without_secrets({key.name: written})[key.name])
            yield Key(f"{prefix} {key.name}", text_of(written), source, masked)


def _parts_of(section: Section) -> Iterator[Section]:
    """Yield the objects whose keys together form one table of the file.

    These are the section itself and, for a serial port, the settings of its protocol.
    """
    yield section
    if isinstance(section, Serial):
        yield section.protocol


def _notes_of(written: Any) -> Iterator[Any]:
    """Yield the metadata of an `Annotated` type, even if the type is part of a union."""
    for part in get_args(written) if get_origin(written) in (Union, UnionType) else (written,):
        yield from getattr(part, "__metadata__", ())

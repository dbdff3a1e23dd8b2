"""A table of the configuration file as a dataclass. Keys and attributes have the same names.

Durations are in seconds (float, None for `"never"`), sizes in bytes (int), paths are `Path`.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

NO_KEY = {"is_key": False}
"""Metadata of an attribute that is not a key of the file."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """Base of all sections; immutable."""

    descriptions: ClassVar[Mapping[str, str]] = {}
    """A sentence for each key, for the schema that editors show. Those of the sections in
    `gateway.configuration` are in its `key_descriptions.py`."""
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False, metadata=NO_KEY)
    """The keys set in any source; the others have their defaults."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a table, completed with defaults that depend on its other keys."""
        return written

    def check(self) -> None:
        """Raise `refusal` if values conflict although each one is allowed."""


def fields_of(section: type[Section]) -> tuple[Field[Any], ...]:
    """Return the keys of a section in file order, with types and defaults."""
    return tuple(each for each in fields(section) if each.metadata.get("is_key", True))


def keys_of(section: type[Section]) -> tuple[str, ...]:
    """Return the names of a section's keys."""
    return tuple(each.name for each in fields_of(section))

"""A table of the configuration file as a dataclass: a key's name is the attribute's name.

Durations are seconds (float, None for `"never"`), sizes are bytes (int), paths are `Path`.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

NO_KEY = {"is_key": False}
"""Metadata of an attribute that stands for no key of the file."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """What all sections share; immutable."""

    descriptions: ClassVar[Mapping[str, str]] = {}
    """Each key in a sentence, for the schema that editors show. Those of the sections of
    `gateway.configuration` are in `key_descriptions.py` there."""
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False, metadata=NO_KEY)
    """The keys that are in a source; the others have their defaults."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a table with the defaults that follow from its own keys."""
        return written

    def check(self) -> None:
        """Raise `refusal` where values that are allowed each do not fit together."""


def fields_of(section: type[Section]) -> tuple[Field[Any], ...]:
    """Return the keys of a section in the order of the file, each with its type and its default."""
    return tuple(each for each in fields(section) if each.metadata.get("is_key", True))


def keys_of(section: type[Section]) -> tuple[str, ...]:
    """Return the names of a section's keys."""
    return tuple(each.name for each in fields_of(section))

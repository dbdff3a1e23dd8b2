"""The base class for tables of the configuration file. Each table is declared as a dataclass.

Keys and attributes have the same names. Durations are in seconds (float, None for `"never"`), sizes
are in bytes (int), and paths are `Path` objects.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

NO_KEY = {"is_key": False}
"""Metadata for a dataclass field that is not a key of the configuration file."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """The immutable base class of all sections (tables) of the configuration file."""

    descriptions: ClassVar[Mapping[str, str]] = {}
    """A description of each key in one sentence. Editors show it from the JSON Schema.

    The sections of `gateway.configuration` are described in its `key_descriptions.py` instead.
    """
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False, metadata=NO_KEY)
    """The keys that are set, for example in the file. All other keys have their defaults."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Prepare a table of the configuration file for validation, and return it.

        `written` is the table as it is in the file. A subclass can add keys, or move keys to a
        subtable.
        """
        return written

    def check(self) -> None:
        """Check that the section's values do not contradict each other.

        Raises the error from `quantities.refusal` if they do.
        """


def fields_of(section: type[Section]) -> tuple[Field[Any], ...]:
    """Return a section's dataclass fields that are keys in the configuration file.

    The fields are in the order in which they are declared.
    """
    return tuple(each for each in fields(section) if each.metadata.get("is_key", True))


def keys_of(section: type[Section]) -> tuple[str, ...]:
    """Return the names of a section's keys."""
    return tuple(each.name for each in fields_of(section))

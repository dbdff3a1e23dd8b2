"""The base class for tables of the configuration file, which are declared as dataclasses.

Keys and attributes have the same names. Durations are in seconds (float, None for `"never"`), sizes
in bytes (int), and paths are `Path`.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

NO_KEY = {"is_key": False}
"""Metadata for a dataclass field that is not a key of the configuration file."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """The immutable base class of all sections of the configuration file."""

    descriptions: ClassVar[Mapping[str, str]] = {}
    """A sentence for each key, for the JSON Schema that editors show.

    Sections in `gateway.configuration` have their sentences in its `key_descriptions.py`.
    """
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False, metadata=NO_KEY)
    """The keys that are set in any source. All other keys have their defaults."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the table in the form that is validated. A subclass can add or move keys."""
        return written

    def check(self) -> None:
        """Check that the section's values do not conflict with each other.

        Raises the error from `quantities.refusal` if two values conflict.
        """


def fields_of(section: type[Section]) -> tuple[Field[Any], ...]:
    """Return a section's dataclass fields that are keys in the configuration file, in order."""
    return tuple(each for each in fields(section) if each.metadata.get("is_key", True))


def keys_of(section: type[Section]) -> tuple[str, ...]:
    """Return the names of a section's keys."""
    return tuple(each.name for each in fields_of(section))

"""Every key of the configuration as people write it, for showing and for checking the
documentation."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gateway.configuration.problems import shown
from gateway.configuration.quantities import Quantity
from gateway.configuration.sections import Configuration, Section


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `name` as `[section] key`, its value as a file would have it, whether it was
    given."""

    name: str
    text: str
    is_set: bool


def keys(configuration: Configuration) -> Iterator[Key]:
    """All keys in the order of the sections; those of lists of tables once for each table."""
    for section in Configuration.model_fields:
        value = getattr(configuration, section)
        if isinstance(value, Section):
            yield from _keys_of(f"[{section}]", value)
            continue
        for number, table in enumerate(value, start=1):
            yield from _keys_of(f"[[{section}]] {number}", table)


def text_of(field: FieldInfo, value: Any) -> str:
    """A field's value as a file would have it; `-` where there is none."""
    quantity = next((item for item in field.metadata if isinstance(item, Quantity)), None)
    if quantity is not None:
        text = quantity.text_of(value)
        return text if isinstance(value, int) and text == str(value) else f'"{text}"'
    if value is None:
        return "-"
    return shown(str(value) if isinstance(value, Path) else value)


def _keys_of(prefix: str, section: BaseModel) -> Iterator[Key]:
    for key, field in type(section).model_fields.items():
        text = text_of(field, getattr(section, key))
        yield Key(f"{prefix} {key}", text, key in section.model_fields_set)

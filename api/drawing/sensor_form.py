"""The form for a sensor: fields for common keys, and a text field for the protocol's keys.

The text field contains lines of TOML.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from api import limits
from api.forms import FormRefused
from gateway.process.files.toml_mistakes import reason_of
from gateway.process.files.toml_text import text_of_keys

_PLACES: Final = ("path", "usb", "address")
_FIELDS: Final = ("name", *_PLACES, "framing", "line")
"""Keys of `[[serial]]` that have their own field in the form."""
_PATH: Final = re.compile(r"/|tty|COM[0-9]|serial/", re.ASCII)
"""The beginning of a path, also of one that is not complete and refused with the fix."""


@dataclass(frozen=True, kw_only=True)
class SensorForm:
    """The values of the form for a sensor, as strings."""

    name: str = ""
    version: str = ""
    """Version of the sensor's file; empty for a new sensor."""
    port: str = ""
    """A path, a USB identity or an address."""
    framing: str = ""
    line: str = ""
    """Line settings; if empty, the protocol's default is used."""
    settings: str = ""
    """All other keys, as lines of TOML."""

    @property
    def table(self) -> dict[str, Any]:
        """The fields of the form as a `[[serial]]` table, without the sensor's name.

        Raises:
            FormRefused: the settings are not valid TOML, or contain a key that has its own field.
        """
        settings = _tables_in(self.settings)
        again = next((key for key in _FIELDS if key in settings), None)
        if again is not None:
            raise FormRefused(f"Settings: {again} has a field of its own.", 422)
        found = {_place_of(self.port): self.port, "framing": self.framing, "line": self.line}
        return {key: value for key, value in found.items() if value} | settings


def form_of_table(name: str, version: str | None, table: Mapping[str, Any]) -> SensorForm:
    """Return a form that is filled in from a `[[serial]]` table."""
    rest = {key: value for key, value in table.items() if key not in _FIELDS}
    return SensorForm(
        name=name,
        version=version or "",
        port=next((str(table[key]) for key in _PLACES if key in table), ""),
        framing=str(table.get("framing", "board")),
        line=str(table.get("line", "")),
        settings=text_of_keys(rest),
    )


def form_in(fields: Mapping[str, str]) -> SensorForm:
    """Read the form from the fields that a browser has sent."""
    names = ("name", "version", "port", "framing", "line", "settings")
    return SensorForm(**{name: fields.get(name, "").strip() for name in names})


def _place_of(port: str) -> str:
    if _PATH.match(port):
        return "path"
    return "address" if "://" in port else "usb"


def _tables_in(settings: str) -> dict[str, Any]:
    if len(settings) > limits.SENSOR_SETTINGS_CHARACTERS_MAX:
        raise FormRefused(
            f"Settings: use at most {limits.SENSOR_SETTINGS_CHARACTERS_MAX} characters.", 422
        )
    try:
        found = tomllib.loads(settings.removeprefix("\ufeff").replace("\r\n", "\n"))
        # TOML has dates, but no key accepts a date; JSON rejects them here.
        tables = dict(json.loads(json.dumps(found, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        is_toml = not isinstance(error, tomllib.TOMLDecodeError)
        reason = "a value is no number" if is_toml else reason_of(error)
        raise FormRefused(f"Settings: use lines like `crc = false`: {reason}.", 422) from None
    return _unpacked(tables)


def _unpacked(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a table that was pasted with its head, as in the documentation.

    The head is `[[serial]]`, or that of a table within it, such as `[[serial.devices]]`.
    """
    pasted = tables.pop("serial", {})
    if isinstance(pasted, list) and len(pasted) == 1:
        (pasted,) = pasted
    if not isinstance(pasted, dict):
        raise FormRefused("Settings: use at most one [[serial]] table.", 422)
    return tables | pasted

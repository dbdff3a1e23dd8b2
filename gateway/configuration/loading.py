"""Where the configuration comes from: defaults, then the file, then the environment, then the
command line.

Later sources win key by key. Every key has an environment variable, `ONCEGATE_<SECTION>_<KEY>`
(`ONCEGATE_LISTENERS` and `ONCEGATE_SERIAL` for the lists of tables), whose text is read as TOML
would read the value; quotes around a text may be left out. Nothing is written and nothing is
connected to.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.configuration.addresses import host_and_port_of
from gateway.configuration.problems import (
    ConfigurationError,
    Location,
    section_at,
    shown,
    suggestion,
)
from gateway.configuration.whole import Configuration
from gateway.keys.protocol import Protocols
from gateway.keys.section import fields_of, keys_of

# A configuration is written by hand; a larger file is the wrong file.
FILE_BYTES_MAX = 1 << 20
COMMAND_LINE = "the command line"
LISTS = ("listeners", "serial")
_PREFIX = "ONCEGATE_"


def load(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, object],
    protocols: Protocols | None,
) -> Configuration:
    """Return the configuration from `path` (None: no file), `environment` and `overrides`.

    Args:
        path: the file.
        environment: the variables, ours among others.
        overrides: `"section.key"` (or `"listeners"`, `"serial"`) to values as the file would have
            them; None means not given.
        protocols: the values of `framing`, with their keys; None where no `[[serial]]` is accepted.

    Raises:
        ConfigurationError: with one line for each mistake.
    """
    sources: dict[Location, str] = {}
    file_name = str(path) if path is not None else "the defaults"
    tables = _read(path) if path is not None else {}
    _add_environment(tables, sources, environment)
    for name, value in overrides.items():
        if value is not None and name == "listen":
            _listen_at(tables, sources, value)
        elif value is not None:
            _set(tables, sources, tuple(name.split(".")), value, COMMAND_LINE)

    def source_of(location: Location) -> str:
        return sources.get(tuple(location[:2])) or sources.get(tuple(location[:1])) or file_name

    from gateway.configuration.checking import configuration_of  # noqa: PLC0415

    return configuration_of(tables, source_of, protocols or {})


def _listen_at(tables: dict[str, Any], sources: dict[Location, str], address: object) -> None:
    try:
        bind, port = host_and_port_of(str(address))
    except ValueError as error:
        raise ConfigurationError([f"{COMMAND_LINE}: --listen: {error}"]) from None
    listeners = tables.get("listeners")
    first = listeners[0] if isinstance(listeners, list) and listeners else {}
    if isinstance(first, dict):
        _set(tables, sources, ("listeners",), [first | {"bind": bind, "port": port}], COMMAND_LINE)


def variables() -> dict[str, Location]:
    """Return every environment variable of the configuration and the place that it sets."""
    places: dict[str, Location] = {}
    for name in keys_of(Configuration):
        section = section_at(name)
        if name in LISTS:
            places[f"{_PREFIX}{name}".upper()] = (name,)
            continue
        for key in keys_of(section):
            places[f"{_PREFIX}{name}_{key}".upper()] = (name, key)
    return places


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError([f"{path}: cannot be read: {error.strerror}"]) from error
    if len(content) > FILE_BYTES_MAX:
        raise ConfigurationError(
            [f"{path}: longer than {FILE_BYTES_MAX} bytes: is it the right file?"]
        )
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            [f"{path}: byte {error.start} is not UTF-8: save as UTF-8"]
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError([f"{path}: is not TOML: {error}"]) from None
    except RecursionError:
        raise ConfigurationError([f"{path}: is not a configuration: nested too deeply"]) from None


def _add_environment(
    tables: dict[str, Any], sources: dict[Location, str], environment: Mapping[str, str]
) -> None:
    places = variables()
    sections = tuple(f"{_PREFIX}{name}_".upper() for name in keys_of(Configuration))
    problems = []
    for name in sorted(environment):
        if name in places:
            location = places[name]
            value = _value_of(environment[name])
            if isinstance(value, str) and location[0] in LISTS:
                problems.append(
                    f"{name} = {shown(value)} is not TOML: use [{{ key = value, ... }}, ...]"
                )
                continue
            _set(
                tables,
                sources,
                location,
                _as_text_where_due(location, value, environment[name]),
                name,
            )
        elif name.startswith(sections):
            problems.append(f"{name} sets no key of this version: {suggestion(name, places)}")
    if problems:
        raise ConfigurationError(problems)


def _value_of(text: str) -> object:
    """Return the text as a TOML value, else as JSON, else as it is."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        table = {}
    # A line end in the text could otherwise bring in further keys.
    if set(table) == {"value"}:
        return table["value"]
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _as_text_where_due(location: Location, value: object, text: str) -> object:
    """Return a password `12345` or a path `2024` as a text, although TOML reads a number."""
    if isinstance(value, str | list | dict) or len(location) == 1:
        return value
    section = section_at(str(location[0]))
    written_type = next(str(key.type) for key in fields_of(section) if key.name == location[1])
    return text if "str" in written_type or "Path" in written_type else value


def _set(
    tables: dict[str, Any],
    sources: dict[Location, str],
    location: Location,
    value: object,
    source: str,
) -> None:
    sources[tuple(location)] = source
    if len(location) == 1:
        tables[str(location[0])] = value
        return
    section = tables.setdefault(str(location[0]), {})
    # A file that has `mqtt = 1` is refused as a whole later; there is nothing to set in it.
    if isinstance(section, dict):
        section[str(location[1])] = value

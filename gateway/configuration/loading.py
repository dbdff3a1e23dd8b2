"""Sources of the configuration: defaults, file, environment and command line.

Later sources override earlier ones, key by key. Files in `conf.d/` add serial ports. Every key has
an environment variable `ONCEGATE_<SECTION>_<KEY>`, and every list of tables has one, such as
`ONCEGATE_LISTENERS`. A variable contains a TOML value. Quotes around a string can be omitted.
Loading writes no files and opens no connection.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway.configuration import conf_d
from gateway.configuration.addresses import host_and_port_of
from gateway.configuration.problems import (
    ConfigurationError,
    Location,
    section_at,
    shown,
    suggestion,
)
from gateway.configuration.tenants import refuse_unknown
from gateway.configuration.variables import RESERVED, is_reserved
from gateway.configuration.whole import Configuration
from gateway.process.declarations.directory import files_next_to
from gateway.process.declarations.protocol import Protocols
from gateway.process.declarations.section import fields_of, keys_of
from gateway.process.files.toml_mistakes import reason_of

# A configuration is written by hand. A larger file cannot be a configuration.
FILE_BYTES_MAX = 1 << 20
COMMAND_LINE = "the command line"
LISTS = ("listeners", "queues", "user_quotas", "serial")
_PREFIX = "ONCEGATE_"


def load(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, object],
    protocols: Protocols | None,
    tenant: str | None = None,
    *,
    replaced: Mapping[str, bytes | None] | None = None,
) -> Configuration:
    """Return the configuration from a file, the environment and the command line.

    Args:
        path: the configuration file, or None if there is no file.
        environment: all environment variables.
        overrides: values from the command line, keyed by `"section.key"`. The key `"listen"` sets
            the address of the first listener. None means that the option was not given.
        protocols: the allowed values of `framing`, each with its keys, or None to reject
            `[[serial]]`.
        tenant: the tenant whose configuration is returned, or None for the gateway with its
            tenants. Overrides outside the section `gateway` apply to the tenant if `tenant` is
            given.
        replaced: contents to use instead of the files in `conf.d/`, keyed by file name, or None for
            a removed file. This argument is used to check a change before it is written.

    Raises:
        ConfigurationError: the configuration is invalid. `problems` has a line for each mistake.
    """
    gathered = _Gathered(path)
    if path is not None:
        gathered.add_file(path)
    gathered.add_environment(environment)
    gathered.add_overrides(overrides, tenant)
    if path is not None and protocols is not None:
        gathered.add_ports(conf_d.folder_of(path), replaced or {})
    with files_next_to(path):
        configuration = _whole_of(gathered, protocols)
    if tenant is None:
        return configuration
    refuse_unknown(configuration.tenants, tenant)
    return configuration.tenants[tenant]


def _whole_of(gathered: "_Gathered", protocols: Protocols | None) -> Configuration:
    """Return the configuration from all sources, including the configuration of each tenant."""
    from gateway.configuration.tenant_checking import whole_of  # noqa: PLC0415

    try:
        whole = whole_of(
            gathered.tables,
            gathered.source_of,
            protocols or {},
            unknown=gathered.unknown,
            problems=gathered.problems,
        )
    except ConfigurationError as error:
        raise ConfigurationError(gathered.shown(error.problems)) from None
    return replace(whole, sources=gathered.sources)


class _Gathered:
    """Values collected from all configuration sources, and the mistakes found in them."""

    def __init__(self, path: Path | None) -> None:
        self._has_file = path is not None
        self._file_name = str(path) if path is not None else "the defaults"
        self._sources: dict[Location, str] = {}
        self._ports: dict[int, conf_d.PortTable] = {}
        self._folder: Path | None = None
        self.tables: dict[str, Any] = {}
        self.problems: list[str] = []
        self.unknown: set[str] = set()
        """Sections that could not be read completely."""

    def source_of(self, location: Location) -> str:
        """Return the name of the source that set the value at a location."""
        if len(location) > 1 and location[0] == conf_d.SECTION and location[1] in self._ports:
            return self._ports[int(location[1])].source_of(location[2:])
        for known in (tuple(location[:2]), tuple(location[:1])):
            if known in self._sources:
                return self._sources[known]
        return self._file_name

    def add_file(self, path: Path) -> None:
        try:
            self.tables = _read(path)
        except ConfigurationError as error:
            self.problems += error.problems
            self.unknown |= {*keys_of(Configuration)}

    def add_environment(self, environment: Mapping[str, str]) -> None:
        places = variables()
        for name in sorted(environment):
            text = environment[name]
            if name in places:
                self._add_variable(name, places[name], text)
            elif name.startswith(_PREFIX) and not is_reserved(name, text):
                # All variables have the same prefix, and there are too many to list.
                fix = suggestion(name, (*places, *RESERVED), likeness=0.0)
                self.problems.append(f"{name} sets no key of this version: {fix}")

    def add_overrides(self, overrides: Mapping[str, object], tenant: str | None) -> None:
        for name, value in overrides.items():
            is_gateway_wide = name.startswith("gateway.")
            tables = self.tables if is_gateway_wide else self._tables_of(tenant)
            if value is not None and name == "listen":
                self._listen_at(str(value), tables)
            elif value is not None:
                self._set(tuple(name.split(".")), value, COMMAND_LINE, tables)

    def add_ports(self, folder: Path, replaced: Mapping[str, bytes | None]) -> None:
        """Add the serial ports in `folder` to the ports from the file or the environment."""
        found = conf_d.ports_in(folder, replaced)
        self.problems += found.problems
        before = self.tables.get(conf_d.SECTION, [])
        if found.problems or not isinstance(before, list):
            self.unknown.add(conf_d.SECTION)
            return
        if not found.ports:
            return
        place = self.source_of((conf_d.SECTION,))
        repeated = [*conf_d.repeated(found.ports, before, place)]
        self.problems += [line for _, line in repeated]
        kept = [port for port in found.ports if all(port is not each for each, _ in repeated)]
        self._folder = folder
        self._ports = dict(enumerate(kept, len(before)))
        self.tables[conf_d.SECTION] = [*before, *(port.table for port in kept)]

    def shown(self, problems: Sequence[str]) -> list[str]:
        """Rewrite messages so that they identify serial ports in `conf.d/` by file and line."""
        if self._folder is None:
            return [*problems]
        return conf_d.without_numbers(problems, self._folder)

    @property
    def sources(self) -> dict[str, str]:
        """The sources of all values that are set, as a dictionary for `Configuration.sources`."""
        named = {".".join(map(str, location)): name for location, name in self._sources.items()}
        ports = {f"{conf_d.SECTION}.{at}": str(port.path) for at, port in self._ports.items()}
        file = {"file": self._file_name} if self._has_file else {}
        return {"": self._file_name, **file, **named, **ports}

    def _tables_of(self, tenant: str | None) -> dict[str, Any]:
        """Return the tables of a tenant, or of the gateway if `tenant` is None.

        For a tenant that does not exist, return a new empty dictionary. Changes to that dictionary
        have no effect.
        """
        tenants = self.tables.get("tenants") if tenant is not None else None
        if tenant is None:
            return self.tables
        found = tenants.get(tenant) if isinstance(tenants, dict) else None
        return found if isinstance(found, dict) else {}

    def _add_variable(self, name: str, location: Location, text: str) -> None:
        value = _value_of(text)
        if isinstance(value, str) and location[0] in LISTS:
            self.unknown.add(str(location[0]))
            self.problems.append(
                f"{name} = {shown(value)} is not TOML: use [{{ key = value, ... }}, ...]"
            )
        else:
            self._set(location, _text_if_expected(location, value, text), name, self.tables)

    def _listen_at(self, address: str, tables: dict[str, Any]) -> None:
        try:
            bind, port = host_and_port_of(address)
        except ValueError as error:
            self.unknown.add("listeners")
            self.problems.append(f"{COMMAND_LINE}: --listen: {error}")
            return
        listeners = tables.get("listeners")
        first = listeners[0] if isinstance(listeners, list) and listeners else {}
        if isinstance(first, dict):
            self._set(("listeners",), [first | {"bind": bind, "port": port}], COMMAND_LINE, tables)

    def _set(self, location: Location, value: object, source: str, tables: dict[str, Any]) -> None:
        self._sources[tuple(location)] = source
        if len(location) == 1:
            tables[str(location[0])] = value
            return
        section = tables.setdefault(str(location[0]), {})
        # A file with `mqtt = 1` is rejected as a whole later; there is nothing to set in it.
        if isinstance(section, dict):
            section[str(location[1])] = value


def variables() -> dict[str, Location]:
    """Return the names of environment variables that set keys, with the section and key of each.

    A list of tables has one variable, which is returned without a key.
    """
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
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            [f"{path}: byte {error.start} is not UTF-8: save as UTF-8"]
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError([f"{path}: is not TOML: {reason_of(error)}"]) from None
    except RecursionError:
        raise ConfigurationError([f"{path}: is not a configuration: nested too deeply"]) from None


def _value_of(text: str) -> object:
    """Parse a string as a TOML value, or else as JSON. If both fail, return the string itself."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        table = {}
    # A line break in the text could otherwise add further keys.
    if set(table) == {"value"}:
        return table["value"]
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _text_if_expected(location: Location, value: object, text: str) -> object:
    """Return `text` if the key at `location` needs a string or a path, otherwise `value`.

    `value` was parsed from `text` as TOML. For example, the text `12345` was parsed as an integer.
    If `value` is already a string, a list or a table, it is returned.
    """
    if isinstance(value, str | list | dict) or len(location) == 1:
        return value
    section = section_at(str(location[0]))
    written_type = next(str(key.type) for key in fields_of(section) if key.name == location[1])
    return text if "str" in written_type or "Path" in written_type else value

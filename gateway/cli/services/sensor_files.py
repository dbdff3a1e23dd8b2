"""Gives the running bridge access to the configuration files of serial ports.

Operators add and change sensors under *Add a sensor* on the status page. The bridge then uses this
module to read and change the files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gateway.process.control.messages import Refused

if TYPE_CHECKING:
    from firmware_bridge.sensor_requests import SensorFiles
    from firmware_bridge.serial.settings import PortSettings

    from gateway.configuration import Configuration
    from gateway.configuration.serial_files import Contents, PortFile, SerialFiles

Ports = tuple["PortSettings", ...]
Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ConfigurationSource:
    """The options that select the bridge's configuration, so that it can be read again later."""

    config: Path | None
    data_dir: Path | None

    def sensor_files(self) -> "SensorFiles":
        """Return the functions that read and change the configuration files of sensors."""
        from firmware_bridge.sensor_requests import SensorFiles

        reader = _Reader(self)
        return SensorFiles(
            read=reader.read,
            alarms_topic=reader.alarms_topic,
            listed=reader.listed,
            file_of=reader.file_of,
            save=reader.save,
            remove=reader.remove,
            undo=reader.undo,
        )


class _Reader:
    """Reader and editor of the bridge's configuration, for use while the bridge runs.

    The required modules, which take 15 MB of memory, are loaded only on first use.
    """

    def __init__(self, source: ConfigurationSource) -> None:
        self._source = source
        self._read: tuple[object, Configuration] | None = None

    @cached_property
    def _file(self) -> Path | None:
        from gateway.cli.common.configuration_file import file_of

        return file_of(self._source.config)

    @cached_property
    def _folder(self) -> Path | None:
        from gateway.configuration import conf_d

        return None if self._file is None else conf_d.folder_of(self._file)

    @cached_property
    def files(self) -> "SerialFiles[Ports]":
        """Access to the configuration files of sensors in `conf.d/`."""
        from gateway.configuration.serial_files import SerialFiles

        return SerialFiles(self._folder, self._checked)

    def save(self, name: str, table: dict[str, Any], version: str | None) -> Ports:
        """Write the table of a port to its file, and return all ports.

        `version` is the version of the file that is replaced, or None for a new file. Raises
        Refused if the change is invalid.
        """
        return _answering(self.files.save)(name, table, version)

    def remove(self, name: str, version: str | None) -> Ports:
        """Remove the file of a port, and return the remaining ports.

        Raises Refused if the file cannot be removed.
        """
        return _answering(self.files.remove)(name, version)

    def undo(self, name: str, version: str | None) -> Ports:
        """Restore the previous version of a port's file, and return all ports.

        Raises Refused if the file cannot be restored.
        """
        return _answering(self.files.undo)(name, version)

    def read(self) -> Ports:
        """Return the configured ports. Raises Refused if the configuration is invalid."""
        return _answering(_ports_of)(self._configuration())

    def alarms_topic(self) -> str:
        """Return the topic below which alarms are published.

        Raises Refused if the configuration is invalid.
        """
        return self._configuration().alarms.topic

    def listed(self) -> list[dict[str, Any]]:
        """Return descriptions of all configured ports, and of removed ports that can be restored.

        Raises Refused if the configuration is invalid.
        """
        files = {each.name: each for each in self.files.listed()}
        configuration = self._configuration()
        found = []
        for at, port in enumerate(configuration.serial):
            place = str(port.path) if port.path is not None else port.usb or port.address
            source = configuration.source_of("serial", at)
            described = {"name": port.name, "place": place, "framing": port.framing}
            file = files.pop(port.name, None)
            found.append({**described, "source": source, **_state_of(file)})
        gone = [each for each in files.values() if each.version is None]
        nothing = {"place": None, "framing": None, "source": None}
        return [*found, *({"name": each.name, **nothing, **_state_of(each)} for each in gone)]

    def file_of(self, name: str) -> dict[str, Any]:
        """Return the configuration file of a port as a dictionary of JSON values.

        Raises Refused if no file contains only this port, or if the configuration is invalid.
        """
        for each in self.files.listed():
            if each.name == name:
                return each.as_json()
        self._configuration()  # a mistake in the file hides the port
        raise Refused(
            "not_found",
            f"no file in conf.d/ contains only the sensor {name[:64]!r}: change it in the file "
            "that contains it",
        )

    def _configuration(self) -> "Configuration":
        """Return the configuration. Read it again if its files have changed.

        Raises Refused if the configuration is invalid.
        """
        signature = self._signature()
        if self._read is None or self._read[0] != signature:
            self._read = signature, _answering(self._load)({})
        return self._read[1]

    def _signature(self) -> object:
        paths = [] if self._file is None or self._folder is None else [self._file, self._folder]
        if self._folder is not None and self._folder.is_dir():
            paths += sorted(self._folder.iterdir())
        return [(path, _changed_at(path)) for path in paths]

    def _checked(self, contents: "Contents") -> Ports:
        return _ports_of(self._load(contents))

    def _load(self, contents: "Contents") -> "Configuration":
        from gateway.cli.common.configuration_file import configuration_with

        return configuration_with(self._source.config, self._source.data_dir, contents)


def _ports_of(configuration: "Configuration") -> Ports:
    """Return the settings of the bridge's ports.

    Files named in the configuration are read too. Raises ConfigurationError if one of them cannot
    be used.
    """
    from gateway.cli.common.failures import CommandFailed
    from gateway.cli.services.bridge_settings import bridge_settings_of
    from gateway.configuration import ConfigurationError

    try:
        return bridge_settings_of(configuration).ports
    except CommandFailed as failure:
        raise ConfigurationError(failure.lines) from None


def _answering(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function that calls `work` and converts its errors to Refused.

    The converted errors are ChangeRefused and ConfigurationError. The bridge sends the code and the
    message of Refused as its response.
    """

    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        from gateway.configuration import ConfigurationError
        from gateway.configuration.serial_files import PROBLEMS_SHOWN_MAX, ChangeRefused

        try:
            return work(*given, **named)
        except ChangeRefused as refused:
            raise Refused(refused.code, refused.message) from None
        except ConfigurationError as error:
            raise Refused("failed", "; ".join(error.problems[:PROBLEMS_SHOWN_MAX])) from None

    return run


def _state_of(file: "PortFile | None") -> Mapping[str, object]:
    """Return the version of a port's file, and two flags that the status page uses.

    `can_change` is True if the page can change the file. `has_previous` is True if the page can
    restore a previous version. If the port has no file of its own in `conf.d/`, `file` is None. The
    version is then None, and both flags are False.
    """
    if file is None:
        return {"version": None, "can_change": False, "has_previous": False}
    can_change = file.version is not None
    return {"version": file.version, "can_change": can_change, "has_previous": file.has_previous}


def _changed_at(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size

"""Selects the port and the protocol for `oncegate serial`.

Both come from the command line or from the configuration.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.common.failures import EXIT_USAGE, CommandFailed
from gateway.cli.common.options import configuration_of

if TYPE_CHECKING:
    from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
    from firmware_bridge.serial.settings import PortSettings

LINE_DEFAULT = "115200 8N1"
OVERHEARD = "modbus"
"""The only protocol whose requests and responses can be decoded without sending requests."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A port to watch, and the protocol that decodes its data.

    If `overhears` is True, no requests are sent, and the requests and responses of other programs
    are shown. `protocol` is None if the data is not decoded, or if the port is overheard and not
    in the configuration.
    """

    port: "PortSettings"
    protocol: "DecoderSettings | PollerSettings | None" = None
    overhears: bool = False


def watched_of(
    port: str | None,
    line: str | None,
    framing: str | None,
    name: str | None,
    config: Path | None,
    *,
    listen: bool = False,
) -> Watched:
    """Return the port that `oncegate serial sniff` watches, with its protocol.

    Args:
        port: path or URL of the port. Not needed if `name` names a port of the configuration.
        line: line settings that override the configuration.
        framing: a protocol that needs no configuration keys, or `modbus` to overhear requests.
        name: name of a `[[serial]]` table, whose protocol is used with all its keys.
        config: the configuration file, or None for the default file.
        listen: True to listen to other programs' requests instead of polling the devices.

    Raises:
        CommandFailed: the options are invalid. The message contains the fix.
    """
    if name is None:
        if port is None:
            raise CommandFailed("name the port: PORT, or --port NAME", exit_code=EXIT_USAGE)
        settings = settings_of(port, line or LINE_DEFAULT)
        if framing == OVERHEARD:
            return _checked(Watched(settings, overhears=True))
        return Watched(settings, None if framing is None else decoder_settings_of(framing))
    if framing is not None:
        raise CommandFailed(
            "either --port or --framing: the file sets the port's protocol", exit_code=EXIT_USAGE
        )
    found = _port_of_file(name, config)
    if port is not None:
        given = settings_of(port, str(found.line))
        found = replace(found, path=given.path, usb=given.usb, address=given.address)
    if line is not None:
        found = replace(found, line=settings_of("x", line).line)
    return _checked(Watched(found, found.protocol, listen and found.framing == OVERHEARD))


def _checked(watched: Watched) -> Watched:
    """Return `watched`, or raise CommandFailed if the port cannot be overheard.

    A Modbus TCP connection cannot be overheard, because it carries only this program's requests.
    """
    if watched.overhears and watched.port.polled_line is None:
        raise CommandFailed(
            f"{watched.port.address}: a Modbus TCP connection carries no requests of others; "
            "leave out --listen to poll the configured devices, or listen on a serial line",
            exit_code=EXIT_USAGE,
        )
    return watched


def _port_of_file(name: str, config: Path | None) -> "PortSettings":
    from gateway.cli.services.bridge_settings import bridge_settings_of

    ports = {port.name: port for port in bridge_settings_of(configuration_of(config)).ports}
    if name not in ports:
        known = ", ".join(ports) or "none"
        raise CommandFailed(f"--port {name}: the file has {known}", exit_code=EXIT_USAGE)
    return ports[name]


def decoder_settings_of(framing: str) -> "DecoderSettings":
    """Return the settings of a protocol that needs no configuration keys.

    Raises CommandFailed for other protocols.
    """
    from firmware_bridge.protocols.interface import DecoderSettings
    from firmware_bridge.protocols.table import PROTOCOLS

    protocol = PROTOCOLS.get(framing)
    if protocol is None or not issubclass(protocol, DecoderSettings):
        known = ", ".join(
            name
            for name, each in PROTOCOLS.items()
            if name == OVERHEARD or issubclass(each, DecoderSettings)
        )
        raise CommandFailed(f"--framing {framing}: use one of {known}", exit_code=EXIT_USAGE)
    try:
        return protocol()
    except TypeError:
        raise CommandFailed(
            f"--framing {framing} needs keys of its own: write them in a [[serial]] and use "
            "--config FILE --port NAME",
            exit_code=EXIT_USAGE,
        ) from None


def settings_of(port: str, line: str) -> "PortSettings":
    """Return the settings of a port given on the command line.

    Raises CommandFailed if `line` is invalid.
    """
    from firmware_bridge.protocols.json_lines import JsonLines
    from firmware_bridge.serial.settings import PortSettings
    from pydantic_core import PydanticCustomError

    from gateway.process.declarations.serial_line import LineText

    try:
        settings = LineText().value_of(line)
    except PydanticCustomError as error:
        raise CommandFailed(f"--line: use {error}", exit_code=EXIT_USAGE) from None
    is_address = re.fullmatch(r"(tcp|rfc2217|modbus\+tcp|rtu\+tcp)://.+:\d{1,5}", port) is not None
    is_usb = re.fullmatch(r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:.+)?", port) is not None
    return PortSettings(
        "port",
        None if is_address or is_usb else port,
        port if is_usb else None,
        "json",
        JsonLines(),
        settings,
        address=port if is_address else None,
    )

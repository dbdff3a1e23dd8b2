"""`oncegate bridge`: reads the serial ports and publishes to the broker."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.prepared import PreparedBridge, PreparedIdle
from gateway.cli.services.sensor_files import ConfigurationSource
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import SecretExposed, first_line_of

if TYPE_CHECKING:
    from firmware_bridge.serial.settings import PortSettings
    from firmware_bridge.settings import BridgeSettings

    from gateway.configuration import Configuration, Serial
    from gateway.configuration.tls import ClientTls
    from gateway.process.mqtt_client.tls import TlsFiles

PASSWORD_BYTES_MAX = 65_535
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
NO_LISTENER = (
    'no listener for the bridge: use one with protocol = "mqtt" and without proxy_protocol or tls, '
    "on loopback perhaps, or [bridge] broker"
)


def bridge(
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> "PreparedBridge | PreparedIdle":
    """Read the configured serial ports and publish every reading exactly once.

    A reading is stored on disk before it is published, and deleted when the
    broker has accepted it.

    Examples:

        oncegate bridge --config gateway.toml

        ONCEGATE_SERIAL='[{name="gps", usb="1546:01a7", framing="nmea", baud_rate=9600}]' oncegate
        bridge
    """
    configuration = configuration_of(config, gateway__data_dir=data_dir)
    if not configuration.reaches_broker and not configuration.serial:
        reason = "no serial port is configured, and no listener for the bridge: nothing to do"
        return PreparedIdle(name="bridge", reason=reason, verbose=verbose, quiet=quiet)
    settings = bridge_settings_of(configuration)
    if settings.home_assistant_prefix is not None:
        settings = _described_as(settings, configuration)
    source = ConfigurationSource(config, data_dir)
    return PreparedBridge(settings=settings, source=source, verbose=verbose, quiet=quiet)


def _described_as(settings: "BridgeSettings", configuration: "Configuration") -> "BridgeSettings":
    """Return the settings with all values that descriptions for Home Assistant need.

    These are the gateway id, the topics of availability and problems, and the page's URL. Without
    availability topics, Home Assistant would keep showing the last value of a device that is gone.
    """
    from gateway.configuration.whole import GATEWAY_TOPIC

    gateway = _gateway_id_of(configuration)
    default = f"{GATEWAY_TOPIC}/{gateway}/availability"
    return replace(
        settings,
        gateway_id=gateway,
        availability_topic=settings.availability_topic or default,
        problem_topic=f"{GATEWAY_TOPIC}/{gateway}/problem",
        page_url=_page_url_of(configuration),
    )


def _page_url_of(configuration: "Configuration") -> str | None:
    """Return the status page's URL on the network, or None if the network cannot reach the page."""
    page = configuration.api
    if not page.is_reached_from_network or page.stays_on_loopback:
        return None
    host = f"{socket.gethostname()}.local" if page.bind in EVERYWHERE else page.bind
    host = f"[{host}]" if ":" in host else host
    return f"{'http' if page.tls is None else 'https'}://{host}:{page.port}/"


def _gateway_id_of(configuration: "Configuration") -> str:
    """Return the gateway id, for descriptions of devices. The id is created on the first start."""
    from gateway.configuration.identity import gateway_id

    try:
        return gateway_id(configuration)
    except OSError as error:
        raise CommandFailed(line_of(error), exit_code=EXIT_CONFIGURATION) from None


def bridge_settings_of(configuration: "Configuration") -> "BridgeSettings":
    """Return the bridge's settings from the configuration.

    Raises CommandFailed if one is invalid.
    """
    from firmware_bridge.mqtt.settings import BrokerSettings
    from firmware_bridge.settings import BridgeSettings

    if not configuration.reaches_broker:
        raise CommandFailed(NO_LISTENER, exit_code=EXIT_CONFIGURATION)
    section = configuration.bridge
    broker_host, broker_port = configuration.broker_address
    try:
        return BridgeSettings(
            data_dir=configuration.gateway.data_dir,
            broker=BrokerSettings(
                host=broker_host,
                port=broker_port,
                client_id=section.client_id,
                username=section.username,
                password=password_of(section.password_file, "[bridge] password_file"),
                tls=tls_files_of(section.tls),
            ),
            control_socket=configuration.gateway.control_socket,
            ports=tuple(_port_settings_of(port) for port in configuration.serial),
            window=configuration.bridge_window,
            outbox_bytes_max=section.outbox_max,
            outbox_age_max_seconds=section.outbox_max_age,
            commit_delay_seconds=section.commit_delay,
            availability_topic=section.availability_topic,
            alarms_topic=configuration.alarms.topic,
            takes_commands=section.commands,
            home_assistant_prefix=section.home_assistant_prefix,
        )
    except ValueError as error:
        raise CommandFailed(line_of(error), exit_code=EXIT_CONFIGURATION) from None


def mistakes_in_files_of(configuration: "Configuration") -> Iterator[str]:
    """Yield the errors in the certificates that `[bridge]` names."""
    from gateway.process.mqtt_client.tls import context_of

    files = tls_files_of(configuration.bridge.tls)
    if files is not None:
        try:
            context_of(files)
        except OSError as error:
            yield f"[bridge] tls: {line_of(error)}"


def tls_files_of(tls: "ClientTls | None") -> "TlsFiles | None":
    """Return the TLS files for a connection to a broker, or None for a connection without TLS."""
    from gateway.process.mqtt_client.tls import TlsFiles

    return None if tls is None else TlsFiles(tls.ca, tls.certificate, tls.key, tls.min_version)


def _port_settings_of(port: "Serial") -> "PortSettings":
    from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
    from firmware_bridge.serial.settings import PortSettings

    from gateway.process.declarations.readings import Readings

    def first_line(path: str, key: str) -> str:
        return password_of(Path(path), f'[[serial]] "{port.name}" {key}') or ""

    protocol = port.protocol.with_secrets(first_line)
    assert isinstance(protocol, DecoderSettings | PollerSettings), "the table has no others"
    return PortSettings(
        name=port.name,
        path=str(port.path) if port.path is not None else None,
        usb=port.usb,
        framing=port.framing,
        protocol=protocol,
        line=port.line_settings,
        units=dict(port.units),
        device=port.device,
        readings=port.readings or Readings(),
        address=port.address,
        flow_control=port.flow_control,
        low_latency=port.low_latency,
        dtr=port.dtr,
        rts=port.rts,
        rs485=port.rs485_settings,
        silent_seconds=port.silent_after,
        reset_seconds=port.reset_after,
        when_full=port.when_full,
        device_silent_seconds=port.device_silent_after,
    )


def password_of(path: Path | None, named_by: str) -> str | None:
    """Return the first line of a password file, without the line end. Without a file, return None.

    `named_by` is the key or option that names the file, for messages. Raises CommandFailed if the
    file cannot be used.
    """
    if path is None:
        return None
    try:
        return first_line_of(path, PASSWORD_BYTES_MAX)
    except SecretExposed as error:
        raise CommandFailed(f"{named_by}: {error}", exit_code=EXIT_CONFIGURATION) from None
    except (OSError, UnicodeDecodeError) as error:
        line_shown = line_of(error) if isinstance(error, OSError) else f"{path}: is not UTF-8"
        raise CommandFailed(f"{named_by}: {line_shown}", exit_code=EXIT_CONFIGURATION) from None

"""Settings of the bridge, from the configuration."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.common.broker_login import password_of, tls_files_of
from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from firmware_bridge.serial.settings import PortSettings
    from firmware_bridge.settings import BridgeSettings

    from gateway.configuration import Configuration, Serial

NO_LISTENER = (
    'no listener for the bridge: use one with protocol = "mqtt" and without proxy_protocol or tls, '
    "for example on loopback, or [bridge] broker"
)


def bridge_settings_of(configuration: "Configuration") -> "BridgeSettings":
    """Return the bridge's settings from the configuration.

    Raises CommandFailed if a setting is invalid.
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
    """Yield the errors in the certificate files that are set in the section `[bridge]`."""
    from gateway.process.mqtt_client.tls import context_of

    files = tls_files_of(configuration.bridge.tls)
    if files is not None:
        try:
            context_of(files)
        except OSError as error:
            yield f"[bridge] tls: {line_of(error)}"


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

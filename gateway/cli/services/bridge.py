"""`oncegate bridge`: reads the serial ports and publishes to the broker."""

import socket
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    QuietOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.bridge_settings import bridge_settings_of
from gateway.cli.services.prepared import PreparedBridge, PreparedIdle
from gateway.cli.services.sensor_files import ConfigurationSource
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from firmware_bridge.settings import BridgeSettings

    from gateway.configuration import Configuration

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104


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
    """Return the bridge's settings, with values added for Home Assistant's device descriptions.

    The added values are the gateway id, the topics for availability and problems, and the status
    page's URL. Without an availability topic, Home Assistant would keep showing the last value of a
    device that no longer responds.
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
    """Return the status page's URL on the network.

    Return None if the page can be reached only from this machine.
    """
    page = configuration.api
    if not page.is_reached_from_network or page.stays_on_loopback:
        return None
    host = f"{socket.gethostname()}.local" if page.bind in EVERYWHERE else page.bind
    host = f"[{host}]" if ":" in host else host
    return f"{'http' if page.tls is None else 'https'}://{host}:{page.port}/"


def _gateway_id_of(configuration: "Configuration") -> str:
    """Return the gateway id for use in device descriptions, creating it if necessary.

    Raises CommandFailed if the id cannot be read or stored.
    """
    from gateway.configuration.identity import gateway_id

    try:
        return gateway_id(configuration)
    except OSError as error:
        raise CommandFailed(line_of(error), exit_code=EXIT_CONFIGURATION) from None

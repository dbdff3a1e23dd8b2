"""What Home Assistant is given of this bridge's devices: its settings and what was seen of them."""

from collections.abc import Mapping
from importlib.metadata import version

from firmware_bridge.mqtt.announcer import Announcer
from firmware_bridge.mqtt.discovery import STATUS, DescribedPort, config_of, topic_for
from firmware_bridge.mqtt.discovery_file import FILE_NAME
from firmware_bridge.readings.seen import Seen
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.settings import BridgeSettings

_METERS = ("dsmr", "sml")


def announcer_of(settings: BridgeSettings) -> Announcer:
    """Return what describes the devices; without a prefix it removes what was described before."""
    prefix = settings.home_assistant_prefix
    ports = {port.name: _described(port) for port in settings.ports}

    def configs(seen: Seen) -> Mapping[str, bytes]:
        found = {}
        for name, device in seen.devices.items():
            config = config_of(
                settings.gateway_id,
                name,
                device,
                ports[device.port],
                availability_topic=settings.availability_topic,
                version=version("oncegate"),
            )
            if prefix is not None and config is not None:
                found[topic_for(prefix, settings.gateway_id, name)] = config
        return found

    return Announcer(
        settings.broker,
        settings.data_dir / FILE_NAME,
        configs,
        ports=frozenset(ports),
        status_topic=None if prefix is None else f"{prefix}/{STATUS}",
    )


def _described(port: PortSettings) -> DescribedPort:
    return DescribedPort(
        port.name,
        port.readings,
        port.units,
        is_meter=port.framing in _METERS,
        watches_devices=port.device_silent_seconds is not None,
    )

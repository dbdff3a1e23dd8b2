"""Describes the bridge's devices for Home Assistant, from the settings and received readings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from firmware_bridge.mqtt.announcer import Announcer
from firmware_bridge.mqtt.discovery import DescribedPort, config_of, config_of_gateway
from firmware_bridge.mqtt.discovery_file import FILE_NAME
from firmware_bridge.readings.seen import Seen, SeenDevice, SeenValue
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.settings import BridgeSettings
from gateway.process.control.discovery_topics import STATUS, topic_for
from gateway.process.version import installed_version

_METERS = ("dsmr", "d0", "sml", "teleinfo", "dlms", "mbus")
_MODELS = {
    "board": "Sensor board",
    "dsmr": "Smart meter (DSMR)",
    "d0": "Meter (IEC 62056-21)",
    "sml": "Smart meter (SML)",
    "nmea": "Receiver (NMEA 0183)",
    "modbus": "Modbus device",
    "mbus": "M-Bus meter",
    "dlms": "Smart meter (DLMS)",
    "mysensors": "MySensors node",
    "teleinfo": "Smart meter (Teleinfo)",
    "vedirect": "Solar device (VE.Direct)",
}


def announcer_of(settings: BridgeSettings) -> Announcer[PortSettings]:
    """Return the announcer, which publishes the descriptions of devices for Home Assistant.

    If no Home Assistant prefix is configured, the announcer only removes the descriptions that
    earlier runs published.
    """
    prefix = settings.home_assistant_prefix
    descriptions = _Descriptions(settings, prefix or "")
    return Announcer(
        settings.broker,
        settings.data_dir / FILE_NAME,
        descriptions.configs if prefix is not None else lambda _: {},
        ports=settings.ports,
        configured=descriptions.use_ports,
        status_topic=None if prefix is None else f"{prefix}/{STATUS}",
    )


class _Descriptions:
    """Descriptions of all devices for Home Assistant, as JSON.

    A description is cached until its device changes, because creating the descriptions of hundreds
    of devices with thousands of values takes a long time.
    """

    def __init__(self, settings: BridgeSettings, prefix: str) -> None:
        self._settings = settings
        self._prefix = prefix
        self._version = installed_version()
        self._ports: dict[str, DescribedPort] = {}
        self._latest: dict[str, tuple[SeenDevice, bytes | None]] = {}

    def use_ports(
        self, devices: Mapping[str, SeenDevice], ports: Sequence[PortSettings]
    ) -> dict[str, SeenDevice]:
        """Store the properties of the configured ports, which are needed to describe their devices.

        Return those of `devices` that are still configured on one of the ports, keyed by name.
        """
        self._ports = {port.name: _described(port) for port in ports}
        self._latest = {}
        return still_configured(devices, ports)

    def configs(self, seen: Seen) -> Mapping[str, bytes]:
        """Return the descriptions of the gateway and the devices in `seen`, keyed by topic."""
        settings = self._settings
        return _gateway_description(settings, self._prefix, self._version) | {
            topic_for(self._prefix, settings.gateway_id, name): config
            for name, device in seen.devices.items()
            if (config := self._config_of(name, device)) is not None
        }

    def _config_of(self, name: str, device: SeenDevice) -> bytes | None:
        before, config = self._latest.get(name, (None, None))
        if before != device:
            config = config_of(
                self._settings.gateway_id,
                name,
                device,
                self._ports[device.port],
                availability_topic=self._settings.availability_topic,
                version=self._version,
            )
            same = replace(device, values=dict(device.values), facts=dict(device.facts))
            self._latest[name] = (same, config)
        return config


def _gateway_description(settings: BridgeSettings, prefix: str, version: str) -> dict[str, bytes]:
    """Return the gateway's own description, as a dictionary with its topic as the only key.

    The dictionary is empty if no topic for the gateway's problems is configured.
    """
    if settings.problem_topic is None:
        return {}
    config = config_of_gateway(
        settings.gateway_id,
        availability_topic=settings.availability_topic,
        problem_topic=settings.problem_topic,
        version=version,
        page_url=settings.page_url,
    )
    # The name is empty for the gateway. No device has an empty name.
    return {topic_for(prefix, settings.gateway_id, ""): config}


def still_configured(
    devices: Mapping[str, SeenDevice], ports: Sequence[PortSettings]
) -> dict[str, SeenDevice]:
    """Return the devices that are still configured on one of `ports`, keyed by name.

    In the returned devices, `is_gone` is True for each value that is no longer configured.
    """
    by_name = {port.name: port for port in ports}
    return {
        name: replace(device, values=_marked(device.values, port.protocol.value_names(name)))
        for name, device in devices.items()
        if (port := by_name.get(device.port)) is not None and port.has_device(name)
    }


def _marked(
    values: Mapping[str, SeenValue], configured: frozenset[str] | None
) -> dict[str, SeenValue]:
    if configured is None:
        return dict(values)
    return {name: replace(each, is_gone=name not in configured) for name, each in values.items()}


def _described(port: PortSettings) -> DescribedPort:
    return DescribedPort(
        port.name,
        port.readings,
        port.units,
        is_meter=port.framing in _METERS,
        watches_devices=port.device_silent_seconds is not None,
        model=_MODELS.get(port.framing),
    )

"""Device descriptions for Home Assistant's MQTT discovery: one retained JSON object per device.

This module does no input or output. The JSON keys are Home Assistant's abbreviations (`avty_t` and
so on), which keep the descriptions of meters with many values short.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from firmware_bridge.mqtt.home_assistant_names import (
    friendly_name_of,
    is_diagnostic,
    is_difference,
    is_interval,
    is_net,
    is_register,
    medium_of,
)
from firmware_bridge.mqtt.home_assistant_units import sensor_keys_of
from firmware_bridge.readings.forms import topic_of
from firmware_bridge.readings.seen import SeenDevice, SeenValue
from gateway.process.declarations.readings import Readings

ORIGIN: Final = "Oncegate"
ONLINE: Final = b"online"
OFFLINE: Final = b"offline"
STATE_CHARACTERS_MAX: Final = 255
"""Maximum length of a state. Home Assistant rejects longer states and logs two warnings for each.
"""
_VALUE: Final = "{value}"
_FIELD_OF: Final = {"number": "v", "boolean": "vb", "text": "vs"}


@dataclass(frozen=True)
class DescribedPort:
    """Properties of a port that the descriptions of its devices depend on.

    `is_meter` is True if the devices are utility meters. `watches_devices` is True if the
    availability of each device is published. `model` is shown for devices that do not report their
    own model.
    """

    name: str
    readings: Readings
    units: Mapping[str, str]
    is_meter: bool = False
    watches_devices: bool = False
    model: str | None = None


def config_of(
    gateway: str,
    name: str,
    device: SeenDevice,
    port: DescribedPort,
    *,
    availability_topic: str | None,
    version: str,
) -> bytes | None:
    """Return the JSON description of a device, or None if none of its values can be shown."""
    components = {
        value_name: component
        for value_name, value in sorted(device.values.items())
        if (component := _component_of((gateway, name), value_name, value, device, port))
        is not None
    }
    if all(each.keys() == {"p"} for each in components.values()):
        return None
    config: dict[str, object] = {
        "dev": {"ids": [f"{gateway}/{name}"], "name": name, **_described(device, port)},
        "o": {"name": ORIGIN, "sw": version},
        "cmps": components,
    }
    if availability_topic is not None:
        topics = [availability_topic, f"{availability_topic}/{port.name}"]
        if port.watches_devices:
            topics.append(f"{availability_topic}/{port.name}/{name}")
        config |= {"avty": [{"t": topic} for topic in topics], "avty_mode": "all"}
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False).encode()


def config_of_gateway(
    gateway: str,
    *,
    availability_topic: str | None,
    problem_topic: str,
    version: str,
    page_url: str | None,
) -> bytes:
    """Return the gateway's description: a binary sensor that is on while there is a problem."""
    device = {
        "ids": [gateway],
        "name": f"{ORIGIN} {gateway}",
        "mf": ORIGIN,
        "mdl": "Edge gateway",
        "sw": version,
        **({} if page_url is None else {"cu": page_url}),
    }
    problem = {
        "p": "binary_sensor",
        "name": "Problem",
        "uniq_id": f"{gateway}//problem",
        "stat_t": problem_topic,
        "val_tpl": "{{ value_json.problem | string | lower }}",
        "pl_on": "true",
        "pl_off": "false",
        "dev_cla": "problem",
        "ent_cat": "diagnostic",
        "json_attr_t": problem_topic,
    }
    config: dict[str, object] = {
        "dev": device,
        "o": {"name": ORIGIN, "sw": version},
        "cmps": {"problem": problem},
    }
    if availability_topic is not None:
        config |= {"avty": [{"t": availability_topic}], "avty_mode": "all"}
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False).encode()


def _described(device: SeenDevice, port: DescribedPort) -> dict[str, str]:
    """Return the known properties of a device: manufacturer, model, serial number and version.

    The keys are Home Assistant's abbreviations.
    """
    facts = device.facts
    numbers = ("serial_number", "meter_id", "meter_number", "server_id")
    found = {
        "mf": facts.get("manufacturer"),
        "mdl": facts.get("model") or port.model,
        "sn": next((facts[each] for each in numbers if each in facts), None),
        "sw": facts.get("version"),
    }
    return {key: each for key, each in found.items() if each is not None}


def _component_of(
    owner: tuple[str, str], name: str, value: SeenValue, described: SeenDevice, port: DescribedPort
) -> dict[str, object] | None:
    """Return the description of one value of a device, or None if it cannot be shown.

    A value cannot be shown if Home Assistant could not extract it from the payloads. `owner`
    contains the gateway's name and the device's name. `described` contains the device's values.
    """
    gateway, device = owner
    if value.is_gone:
        return {"p": _platform_of(value)}  # This removes the value from Home Assistant.
    template = _template_of(device, name, value, port.readings)
    if template is None:
        return None
    quantity = value.quantity if port.readings.payload == "senml" else name
    known = {**port.readings.tags, "device": device, "port": port.name, "quantity": quantity}
    component: dict[str, object] = {
        "p": _platform_of(value),
        "name": friendly_name_of(name, described.facts),
        "uniq_id": f"{gateway}/{device}/{name}",
        "stat_t": topic_of(port.readings.topic, known),
        "val_tpl": template,
    }
    if is_diagnostic(name):
        component["ent_cat"] = "diagnostic"
    if value.kind == "boolean":
        component |= {"pl_on": "true", "pl_off": "false"}
    if value.kind == "number":
        component |= _keys_of_number(name, value, described, port)
    return component


def _keys_of_number(
    name: str, value: SeenValue, described: SeenDevice, port: DescribedPort
) -> dict[str, str]:
    """Return the device class, the unit and the state class of a number, as far as it has them.

    The keys are Home Assistant's abbreviations.
    """
    rule = port.readings.rules.get(name)
    shown = sensor_keys_of(
        port.units.get(name) or (rule.unit if rule is not None else None) or value.unit,
        is_meter=(port.is_meter or is_register(name)) and not is_interval(name),
        is_net=is_net(name),
        # Outside a meter, the volume of water may be what a tank contains.
        medium=medium_of(name, described.facts)
        if port.is_meter or not name.endswith("_volume")
        else None,
    )
    keys = {
        "dev_cla": None if is_difference(name) else shown.device_class,
        "unit_of_meas": shown.unit,
        "stat_cla": shown.state_class,
    }
    return {key: each for key, each in keys.items() if each is not None}


def _platform_of(value: SeenValue) -> str:
    return "binary_sensor" if value.kind == "boolean" else "sensor"


def _template_of(device: str, name: str, value: SeenValue, readings: Readings) -> str | None:
    """Return the template that Home Assistant uses to extract a value from a payload.

    `readings` specifies the format of the payloads. If payloads in this format do not contain the
    value, return None.
    """
    if readings.payload == "senml":
        # A pack that a board kept for a while contains several records of a value, the latest last.
        found = (
            f"value_json | selectattr('n', 'eq', '{device}/{name}') "
            f"| map(attribute='{_FIELD_OF[value.kind]}', default='') | list | last"
        )
    elif readings.payload == "value":
        found = "value"
    else:
        path = next(_paths_to_value(readings.template), None)
        if path is None:
            return None
        found = f"value_json{path}"
    if value.kind == "boolean":
        found = f"{found} | string | lower"
    elif value.kind == "text":
        found = f"{found} | string | truncate({STATE_CHARACTERS_MAX}, true, '', 0)"
    return f"{{{{ {found} }}}}"


def _paths_to_value(part: object) -> Iterator[str]:
    """Yield the path to each place in a payload template where the value is inserted.

    A path has the form `["a"][0]`. `part` is the template or a part of it.
    """
    if part == _VALUE:
        yield ""
    elif isinstance(part, Mapping):
        for key, each in part.items():
            shown = json.dumps(key, ensure_ascii=False)
            yield from (f"[{shown}]{path}" for path in _paths_to_value(each))
    elif isinstance(part, list):
        for index, each in enumerate(part):
            yield from (f"[{index}]{path}" for path in _paths_to_value(each))

"""Descriptions of devices: their keys are those of Home Assistant, and their templates find the
values."""

import json
from typing import Any

import pytest
from firmware_bridge.mqtt.discovery import DescribedPort, config_of, config_of_gateway
from firmware_bridge.mqtt.problem import problem_payload
from firmware_bridge.readings.measurement import Measurement, Quantities
from firmware_bridge.readings.numbering import Numbering
from firmware_bridge.readings.publications import publications_of
from firmware_bridge.readings.seen import Seen, SeenDevice, SeenValue
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gateway.process.declarations.readings import QuantityRule, Readings
from tests.bridge.mqtt import home_assistant as schema

QUANTITIES: Quantities = {
    "temperature": [
        Measurement("temperature", 20.0, "Cel", -1.0),
        Measurement("temperature", 21.5),
    ],
    "gga": [Measurement("gga/alt", 545.4, "m"), Measurement("gga/fix", "3D")],
    "door": [Measurement("door", True)],
    "raw": [Measurement("raw", b"x")],
}
SHOWN = {"temperature": "21.5", "gga/alt": "545.4", "gga/fix": "3D", "door": "true"}
FORMS = {
    "senml": Readings(),
    "value": Readings(topic="plant/{port}/{device}/{quantity}", payload="value", tags={"a": "b"}),
    "json": Readings(
        topic="{a}/{device}/{quantity}",
        payload="json",
        tags={"a": "hall"},
        template={"name": "{quantity}={value}", "a": [1, {'"ü"\n': "{value}"}], "t": "{time}"},
    ),
}


def described(port: DescribedPort, topic: str | None = "state") -> dict[str, Any]:
    seen = Seen({})
    seen.note(port.name, "gps", QUANTITIES)
    config = config_of(
        "cellar", "gps", seen.devices["gps"], port, availability_topic=topic, version="1.2"
    )
    assert config is not None
    found: dict[str, Any] = json.loads(config)
    return found


def state_of(component: dict[str, Any], payload: bytes) -> str:
    """Render a payload with a component's template, as Home Assistant does with Jinja's own
    filters."""
    environment = ImmutableSandboxedEnvironment()
    values = {"value": payload.decode()}
    try:
        values["value_json"] = json.loads(payload)
    except ValueError:
        values["value_json"] = ""
    return environment.from_string(component["val_tpl"]).render(values)


@pytest.mark.parametrize("form", FORMS)
def test_templates_find_what_is_published_at_their_topics(form: str) -> None:
    readings = FORMS[form]
    components = described(DescribedPort("roof", readings, {}))["cmps"]
    published = publications_of(
        QUANTITIES,
        Numbering("gps", 1, 1),
        arrival_seconds=1e9,
        units={},
        readings=readings,
        port="roof",
    )
    payloads = {each.topic: each.payload for each in published}
    assert components.keys() == SHOWN.keys()
    for name, component in components.items():
        state = state_of(component, payloads[component["stat_t"]])
        assert state == SHOWN[name], name


def test_a_pack_without_the_value_gives_no_state() -> None:
    components = described(DescribedPort("roof", Readings(), {}))["cmps"]
    for payload in (b"[]", b'[{"n":"gps/other","v":1}]', b'[{"n":"gps/temperature","vs":"x"}]'):
        assert state_of(components["temperature"], payload) == ""


def test_a_text_is_cut_to_the_length_of_a_state() -> None:
    component = described(DescribedPort("roof", Readings(), {}))["cmps"]["gga/fix"]
    for text, expected in (("x" * 600, "x" * 255), ("x y " * 63, "x y " * 63), ("", "")):
        payload = json.dumps([{"n": "gps/gga/fix", "vs": text}]).encode()
        assert state_of(component, payload) == expected
    assert state_of(component, b"[]") == ""


@pytest.mark.parametrize("form", FORMS)
def test_home_assistant_knows_each_key(form: str) -> None:
    config = described(DescribedPort("roof", FORMS[form], {}, watches_devices=True))
    assert config.keys() <= schema.DEVICE_DISCOVERY_KEYS.keys()
    assert {"dev", "o", "cmps"} <= config.keys()
    assert config["dev"].keys() <= schema.DEVICE_KEYS.keys()
    assert config["dev"]["ids"] == ["cellar/gps"]
    assert config["o"] == {"name": "Oncegate", "sw": "1.2"}
    assert config["avty_mode"] in schema.AVAILABILITY_MODES
    assert config["avty"] == [{"t": "state"}, {"t": "state/roof"}, {"t": "state/roof/gps"}]
    assert all(each.keys() <= schema.AVAILABILITY_KEYS.keys() for each in config["avty"])
    for name, component in config["cmps"].items():
        is_truth = component["p"] == "binary_sensor"
        keys = schema.BINARY_SENSOR_KEYS if is_truth else schema.SENSOR_KEYS
        assert is_truth == (name == "door")
        assert component.keys() <= keys.keys()
        assert component["uniq_id"] == f"cellar/gps/{name}"
    assert config["cmps"]["temperature"]["dev_cla"] == "temperature"
    # Home Assistant would expect a numeric value if a unit were present.
    assert {"unit_of_meas", "stat_cla"}.isdisjoint(config["cmps"]["gga/fix"])


def test_without_states_of_the_bridge_a_device_is_always_available() -> None:
    config = described(DescribedPort("roof", Readings(), {}), topic=None)
    assert {"avty", "avty_mode"}.isdisjoint(config)


def test_the_operator_s_unit_is_shown() -> None:
    rules = (QuantityRule(name="gga/alt", unit="km"), QuantityRule(name="temperature", unit="W"))
    port = DescribedPort("roof", Readings(quantities=rules), {"temperature": "K"})
    components = described(port)["cmps"]
    assert components["gga/alt"]["unit_of_meas"] == "km"
    assert components["temperature"]["unit_of_meas"] == "K"


def test_a_device_of_which_nothing_can_be_shown_is_not_described() -> None:
    seen = Seen({})
    seen.note("roof", "gps", QUANTITIES)
    readings = Readings(payload="json", template={"text": "T={value}"})
    port = DescribedPort("roof", readings, {})
    device = seen.devices["gps"]
    assert config_of("c", "gps", device, port, availability_topic=None, version="1") is None


def test_a_value_that_is_gone_has_its_platform_alone_and_a_device_of_such_values_nothing() -> None:
    port = DescribedPort("roof", Readings(), {})
    values = {
        "door": SeenValue("door", "boolean", None, is_gone=True),
        "level": SeenValue("level", "number", "m", is_gone=True),
    }
    others = {"flow": SeenValue("flow", "number", None)}

    def config(device: SeenDevice) -> bytes | None:
        return config_of("cellar", "tank", device, port, availability_topic=None, version="1")

    found = json.loads(config(SeenDevice("roof", {**values, **others})) or b"")["cmps"]
    assert (found["door"], found["level"]) == ({"p": "binary_sensor"}, {"p": "sensor"})
    assert found["flow"]["uniq_id"] == "cellar/tank/flow"
    assert config(SeenDevice("roof", values)) is None


def test_a_smart_meter_is_described_with_its_maker_its_number_and_its_gas() -> None:
    seen = Seen({})
    quantities: Quantities = {
        each.name: [each]
        for each in (
            Measurement("meter_id", "E0044007"),
            Measurement("manufacturer", "EMH"),
            Measurement("mbus_1_type", "003"),
            Measurement("mbus_1_reading", 338.711, "m3"),
            Measurement("energy_import_t1", 646.007, "kWh"),
        )
    }
    seen.note("p1", "meter", quantities)
    port = DescribedPort("p1", Readings(), {}, is_meter=True, model="Smart meter (DSMR)")
    found = config_of(
        "cellar", "meter", seen.devices["meter"], port, availability_topic=None, version="1"
    )
    config = json.loads(found or b"")
    assert config["dev"] == {
        "ids": ["cellar/meter"],
        "name": "meter",
        "mf": "EMH",
        "mdl": "Smart meter (DSMR)",
        "sn": "E0044007",
    }
    gas = config["cmps"]["mbus_1_reading"]
    assert (gas["name"], gas["dev_cla"], gas["unit_of_meas"], gas["stat_cla"]) == (
        "Gas reading",
        "gas",
        "m³",
        "total_increasing",
    )
    assert config["cmps"]["meter_id"]["ent_cat"] == "diagnostic"
    assert "ent_cat" not in config["cmps"]["energy_import_t1"]


def test_an_amount_of_one_interval_is_energy_without_a_state_class() -> None:
    seen = Seen({})
    values = [Measurement(f"interval_values/{number}", 0.2, "kWh") for number in (1, 2)]
    seen.note("p1", "meter", {"interval_values": values})
    port = DescribedPort("p1", Readings(), {}, is_meter=True)
    config = json.loads(
        config_of("g", "meter", seen.devices["meter"], port, availability_topic=None, version="1")
        or b""
    )
    shown = config["cmps"]["interval_values/1"]
    assert (shown["dev_cla"], shown["unit_of_meas"]) == ("energy", "kWh")
    assert "stat_cla" not in shown


def test_the_gateway_is_a_device_with_a_problem_sensor_and_its_page() -> None:
    config = json.loads(
        config_of_gateway(
            "gw-1",
            availability_topic="gateway/gw-1/availability",
            problem_topic="gateway/gw-1/problem",
            version="1.2",
            page_url="http://gw.local:8080/",
        )
    )
    assert config.keys() <= schema.DEVICE_DISCOVERY_KEYS.keys()
    assert config["dev"].keys() <= schema.DEVICE_KEYS.keys()
    assert config["dev"]["cu"] == "http://gw.local:8080/"
    assert config["avty"] == [{"t": "gateway/gw-1/availability"}]
    (problem,) = config["cmps"].values()
    assert problem.keys() <= schema.BINARY_SENSOR_KEYS.keys()
    assert (problem["p"], problem["dev_cla"]) == ("binary_sensor", "problem")
    assert problem["ent_cat"] in schema.ENTITY_CATEGORIES
    assert state_of(problem, problem_payload(["a port is not open"])) == problem["pl_on"]
    assert state_of(problem, problem_payload([])) == problem["pl_off"]


@pytest.mark.parametrize(
    ("name", "unit", "is_meter", "keys"),
    [
        ("energy", "kWh", True, ("energy", "kWh", "total_increasing")),
        ("energy_max", "kWh", True, ("energy", "kWh", None)),
        ("energy_import_max", "kWh", False, ("energy", "kWh", None)),
        ("1-0:16.8.0.18", "kWh", True, ("energy", "kWh", "total")),
        # Home Assistant would convert a difference in K to °C as if it were a temperature.
        ("temperature_difference", "K", True, (None, "K", "measurement")),
        ("temperature_difference_max", "K", True, (None, "K", "measurement")),
        ("gas_volume", "m3", True, ("gas", "m³", "total_increasing")),
        ("water_total", "l", False, ("water", "L", "total_increasing")),
        # What a tank contains may fall.
        ("water_volume", "l", False, (None, "L", "measurement")),
        ("volume_flow", "m3/min", True, (None, "m³/min", "measurement")),
    ],
)
def test_only_what_can_never_fall_is_a_counter(
    name: str, unit: str, is_meter: bool, keys: tuple[str | None, ...]
) -> None:
    seen = Seen({})
    seen.note("p", "meter", {name: [Measurement(name, 0.2, unit)]})
    port = DescribedPort("p", Readings(), {}, is_meter=is_meter)
    found = config_of(
        "g", "meter", seen.devices["meter"], port, availability_topic=None, version="1"
    )
    shown = json.loads(found or b"")["cmps"][name]
    assert tuple(shown.get(key) for key in ("dev_cla", "unit_of_meas", "stat_cla")) == keys

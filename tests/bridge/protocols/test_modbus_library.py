"""Described Modbus devices, each polled from a simulated device with the register words of its
document."""

import re
import struct
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.frame import Frame, Outcome, Refused
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_answer import Block, quantities_of, read_answer
from firmware_bridge.protocols.modbus_library import PACKAGED, description_of, names_known
from firmware_bridge.protocols.modbus_plan import Plan
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, load
from gateway.process.declarations.serial_line import LineText
from gateway.process.declarations.units import UNITS

HEAD = "[[serial]]\nname = 'bus'\npath = '/dev/ttyUSB0'\nframing = 'modbus'\n"


def f32(value: float) -> tuple[int, ...]:
    return struct.unpack(">2H", struct.pack(">f", value))


def f64(value: float) -> tuple[int, ...]:
    return struct.unpack(">4H", struct.pack(">d", value))


def high_first(value: int, words: int = 2) -> tuple[int, ...]:
    return struct.unpack(f">{words}H", (value % (1 << 16 * words)).to_bytes(2 * words, "big"))


def low_first(value: int) -> tuple[int, ...]:
    high, low = high_first(value)
    return low, high


EXAMPLES: dict[str, dict[int, tuple[tuple[int, ...], str, float]]] = {
    "eastron.sdm120": {
        0: (f32(230.2), "voltage", 230.2),
        12: (f32(-1500.5), "power", -1500.5),
        70: (f32(50.0), "frequency", 50.0),
        342: (f32(1234.5), "energy_total", 1234.5),
    },
    "eastron.sdm220": {6: (f32(4.5), "current", 4.5), 72: (f32(12.25), "energy_import", 12.25)},
    "eastron.sdm230": {30: (f32(0.98), "power_factor", 0.98), 74: (f32(3.5), "energy_export", 3.5)},
    "eastron.sdm630": {
        # The example in the maker's document: 43 66 33 34 is 230.2 V.
        0: ((0x4366, 0x3334), "voltage_l1", 230.2),
        10: (f32(1.5), "current_l3", 1.5),
        52: (f32(-2300.0), "power", -2300.0),
        348: (f32(7.5), "energy_import_l2", 7.5),
    },
    "eastron.sdm72v2": {52: (f32(345.5), "power", 345.5), 342: (f32(99.5), "energy_total", 99.5)},
    "carlo_gavazzi.em111": {
        0: (low_first(2301), "voltage", 230.1),
        4: (low_first(-15000), "power", -1500.0),
        15: ((500,), "frequency", 50.0),
        32: (low_first(123), "energy_export", 12.3),
    },
    "carlo_gavazzi.em340": {
        12: (low_first(1234), "current_l1", 1.234),
        40: (low_first(-70000), "power", -7000.0),
        52: (low_first(987654), "energy_import", 98765.4),
        49: ((0xFC18,), "power_factor", -1.0),
    },
    "carlo_gavazzi.em24": {
        55: ((500,), "frequency", 50.0),
        62: (low_first(100001), "energy_import", 10000.1),
        92: (low_first(5), "energy_export", 0.5),
    },
    "abb.b21": {0x5B00: (high_first(2301), "voltage", 230.1)},
    "abb.b23": {
        0x5000: (high_first(123456, 4), "energy_import", 1234.56),
        0x5B14: (high_first(-150000), "power", -1500.0),
        0x5B2C: ((5001,), "frequency", 50.01),
    },
    "schneider.iem3155": {
        3027: (f32(231.5), "voltage_l1", 231.5),
        3059: (f32(1.25), "power", 1.25),
        3203: (high_first(1234567, 4), "energy_import", 1234567),
    },
    "janitza.umg96rm": {
        19000: (f32(230.5), "voltage_l1", 230.5),
        19026: (f32(-450.5), "power", -450.5),
        19068: (f32(1234.0), "energy_import", 1234.0),
    },
    "siemens.pac3200": {
        1: (f32(231.5), "voltage_l1", 231.5),
        65: (f32(1234.5), "power", 1234.5),
        801: (f64(123456.5), "energy_import_t1", 123456.5),
    },
    "orno.we504": {0: ((2301,), "voltage", 230.1), 7: (high_first(70000), "energy_import", 70000)},
    "orno.we516": {
        14: (f32(230.5), "voltage_l1", 230.5),
        28: (f32(1.5), "power", 1.5),
        256: (f32(123.5), "energy_total", 123.5),
    },
    "peacefair.pzem016": {
        0: ((2300,), "voltage", 230.0),
        1: (low_first(70000), "current", 70.0),
        5: (low_first(65537), "energy_import", 65537),
    },
    "peacefair.pzem017": {0: ((1234,), "voltage", 12.34), 2: (low_first(1500), "power", 150.0)},
    "growatt.protocol_ii": {
        35: (high_first(45000), "power", 4500.0),
        37: ((5001,), "frequency", 50.01),
        55: (high_first(123456), "energy_export", 12345.6),
    },
    "solaredge.inverter": {
        40083: ((4567, 0xFFFF), "power", 456.7),  # times 10 to the power of -1
        40093: ((0x0001, 0x86A0, 0), "energy_export", 100000),
        40103: ((4325, 0x8000, 0x8000, 0xFFFE), "temperature", 43.25),
    },
    "fronius.inverter": {
        40083: ((4567, 1), "power", 45670),
        40085: ((4999, 0xFFFE), "frequency", 49.99),
    },
    "victron.gx": {
        840: ((5234,), "battery_voltage", 523.4),
        842: ((0xFE0C,), "battery_power", -500),
        843: ((87,), "state_of_charge", 87),
    },
    "huawei.sun2000": {
        32080: (high_first(-25), "power", -25),
        32106: (high_first(123456), "energy_export", 1234.56),
        32087: ((0xFFEC,), "temperature", -2.0),
    },
    "sma.inverter": {
        30775: (high_first(5000), "power", 5000),
        30529: (high_first(12345678), "energy_export", 12345678),
        30803: (high_first(5001), "frequency", 50.01),
    },
    "sungrow.string": {
        5003: (low_first(70000), "energy_export", 70000),
        5007: ((0xFFF6,), "temperature", -1.0),
        5030: (low_first(4500), "power", 4500),
    },
    "xy.md02": {1: ((0xFFCE,), "temperature", -5.0), 2: ((455,), "humidity", 45.5)},
}


class DescribedSlave:
    """A simulated device that has only the registers of a description and returns few at a time."""

    def __init__(self, device: str, words: dict[int, int]) -> None:
        self.words = words
        description = description_of(device)
        self.most = description.get("registers_per_request", 125)

    def answer(self, block: Block) -> Outcome:
        asked = range(block.first, block.first + block.count)
        if block.count > self.most or not set(asked) <= self.words.keys():
            return Refused("exception_2")
        values = struct.pack(f">{block.count}H", *(self.words[each] for each in asked))
        return read_answer(bytes((block.function, len(values))) + values, block)


def modbus_of(tmp_path: Path, table: str) -> Modbus:
    file = tmp_path / "gateway.toml"
    file.write_text(f"{HEAD}[[serial.devices]]\nname = 'd'\naddress = 1\n{table}")
    (port,) = load(file, {}, {}, PROTOCOLS).serial
    assert isinstance(port.protocol, Modbus)
    return port.protocol


def test_every_description_has_an_example_and_every_example_a_description() -> None:
    own = {name for name in names_known() if "same_as" not in packaged(name)}
    assert set(EXAMPLES) == own


def packaged(name: str) -> dict[str, Any]:
    return tomllib.loads((PACKAGED / f"{name}.toml").read_text())


@pytest.mark.parametrize("device", EXAMPLES)
def test_a_described_device_is_read_whole_without_a_refusal(device: str, tmp_path: Path) -> None:
    (found,) = modbus_of(tmp_path, f"device = '{device}'").resolved_devices
    words = {at: 1 for each in found.registers for at in range(each.at, each.end)}
    for at, (example, _, _) in EXAMPLES[device].items():
        words |= {at + offset: word for offset, word in enumerate(example)}
    slave, plan = DescribedSlave(device, words), Plan(found)
    values: dict[str, object] = {}
    plan.begin_poll(0.0)
    while (block := plan.next_block()) is not None:
        outcome = slave.answer(block)
        assert isinstance(outcome, Frame), f"{block.place} is refused"
        values |= {name: each.value for name, (each,) in outcome.quantities.items()}
        plan.end(block, outcome, 0.0)
    assert {name: values[name] for _, name, _ in EXAMPLES[device].values()} == {
        name: pytest.approx(value) for _, name, value in EXAMPLES[device].values()
    }


@pytest.mark.parametrize(
    ("device", "words", "name", "found"),
    [
        # "EEE" on the display: the value is too large.
        ("carlo_gavazzi.em340", low_first(0x7FFFFFFF), "power", "no_value"),
        ("carlo_gavazzi.em24", low_first(0x7FFFFFFF), "power", "no_value"),
        ("carlo_gavazzi.em111", low_first(0x7FFFFFFF), "power", "no_value"),
        ("carlo_gavazzi.em111", (0x7FFF,), "power_factor", "no_value"),
        ("schneider.iem3155", high_first(1 << 63, 4), "energy_export", "no_value"),
        ("schneider.iem3155", (0xFFC0, 0), "power", "not_measured"),
        # A counter of SunSpec that is 0 does not count, such as at night.
        ("fronius.inverter", (0, 0, 0), "energy_export", "no_value"),
        ("solaredge.inverter", (0, 0, 0), "energy_export", "no_value"),
        ("sungrow.string", (0xFFFF,), "pv2_voltage", "no_value"),
        ("sungrow.string", (0xFFFF, 0xFFFF), "power", "no_value"),
        ("sungrow.string", (0x7FFF,), "temperature", "no_value"),
        ("growatt.protocol_ii", (65536 - 41,), "temperature", -4.1),
    ],
)
def test_a_register_of_a_described_device_without_a_value_has_none(
    device: str, words: tuple[int, ...], name: str, found: object, tmp_path: Path
) -> None:
    (described,) = modbus_of(tmp_path, f"device = '{device}'").resolved_devices
    register = next(each for each in described.registers if each.name == name)
    data = struct.pack(f">{len(words)}H", *words)
    quantities, skipped = quantities_of(data, [register], register.first)
    assert {**skipped, **{key: each[0].value for key, each in quantities.items()}} == {name: found}


@pytest.mark.parametrize("device", names_known())
def test_a_description_names_its_source_and_units_that_are_known(
    device: str, tmp_path: Path
) -> None:
    description = description_of(device)
    assert description["title"]
    assert len(description["source"]) > 10
    if "line" in description:
        assert str(LineText().value_of(description["line"])) == description["line"]
    (found,) = modbus_of(tmp_path, f"device = '{device}'").devices
    assert {each.unit for each in found.registers if each.unit} <= set(UNITS)


def test_a_table_chooses_quantities_and_has_its_own(tmp_path: Path) -> None:
    (found,) = modbus_of(
        tmp_path,
        "device = 'eastron.sdm630'\nquantities = ['power', 'energy_import']\n"
        "registers_per_request = 4\n"
        "registers = [{ name = 'power', at = 52, type = 'f32', kind = 'input', unit = 'kW' },"
        "{ name = 'relay', at = 3, kind = 'coil' }]",
    ).devices
    assert [(each.name, each.unit) for each in found.registers] == [
        ("energy_import", "kWh"),
        ("power", "kW"),
        ("relay", None),
    ]
    assert found.registers_per_request == 4


def test_a_description_next_to_the_configuration_comes_before_the_package(tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    own = "registers = [{ name = 'rpm', at = 7 }]\nno_value = 0x8000\nkind = 'input'\n"
    (tmp_path / "devices" / "eastron.sdm630.toml").write_text(own)
    (tmp_path / "devices" / "acme.pump.toml").write_text("same_as = 'eastron.sdm630'\n")
    for device in ("eastron.sdm630", "acme.pump"):
        (found,) = modbus_of(tmp_path, f"device = '{device}'").devices
        assert [(each.name, each.kind) for each in found.registers] == [("rpm", "input")]
        assert found.no_value == (0x8000,)


def broken() -> Iterator[tuple[str, str, str]]:
    yield "device = 'eastron.sdm63'", "", "did you mean eastron.sdm630"
    yield "device = 'eastron'", "", "eastron.sdm630"
    yield "", "", "use registers, or device"
    yield "quantities = ['a']\nregisters = [{ name = 'a', at = 1 }]", "", "use device with"
    yield "device = 'eastron.sdm120'\nquantities = ['torque']", "", "and not torque"
    yield "device = 'acme.pump'", "registers = [", "use TOML in"
    yield "device = 'acme.pump'", "title = 'x'", "use registers with a name each"
    yield "device = 'acme.pump'", "registers = [{ at = 1 }]", "use registers with a name each"
    yield "device = 'acme.pump'", "registers = [{ name = 'a', unti = 'V' }]", "toml, and not unti"
    yield "device = 'acme.pump'", "speed = 1\nregisters = []", "and not speed"
    yield "device = 'acme.pump'", "registers = [{ name = 'a', at = 70000 }]", "at = 70000"
    yield "device = 'acme.pump'", "same_as = 'acme.pump'", "same_as has registers"
    yield "device = 'acme.pump'", "#" * 70000, "at most 65536 bytes"


@pytest.mark.parametrize(("table", "description", "words"), list(broken()))
def test_a_device_that_cannot_be_used_is_refused_with_the_reason(
    table: str, description: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "devices").mkdir()
    if description:
        (tmp_path / "devices" / "acme.pump.toml").write_text(description)
    with pytest.raises(ConfigurationError) as error:
        modbus_of(tmp_path, table)
    assert words in " ".join(error.value.problems)


def test_the_page_lists_every_description() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "protocols.md"
    listed = set(re.findall(r"^\| `([a-z0-9_.]+)` \| .* \| .* \| .* \|$", page.read_text(), re.M))
    assert set(names_known()) <= listed

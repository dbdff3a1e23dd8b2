"""The devices of each protocol in a real Home Assistant that runs beside the gateway."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.real_programs.cabinet import Cabinet
from tests.real_programs.home_assistant import HomeAssistant
from tests.system.broker_process import BrokerProcess

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

GATEWAY = "gateway-under-test"
AWAY = "unavailable"
ENERGY, POWER = ("energy", "kWh", "total_increasing"), ("power", "W", "measurement")
FOUND: dict[str, tuple[str | None, str | None, str | None]] = {
    "p1/energy_import_t1": ENERGY,
    "p1/energy_import_t2": ENERGY,
    "p1/energy_export_t1": ENERGY,
    "p1/power_import": ("power", "kW", "measurement"),
    "p1/voltage_l1": ("voltage", "V", "measurement"),
    "p1/mbus_1_reading": ("gas", "m³", "total_increasing"),
    "p1/mbus_2_reading": ("water", "m³", "total_increasing"),
    "p1/meter_id": (None, None, None),
    "d0/energy_import": ENERGY,
    "d0/energy_export": ENERGY,
    "han/energy_import": ("energy", "Wh", "total_increasing"),
    "han/power_import": POWER,
    "han/voltage_l1": ("voltage", "V", "measurement"),
    "linky/energy_import": ("energy", "Wh", "total_increasing"),
    "linky/apparent_power": ("apparent_power", "VA", "measurement"),
    "solar/battery_voltage": ("voltage", "V", "measurement"),
    "solar/panel_power": POWER,
    "solar/state": (None, None, None),
    "water-meter/water_volume": ("water", "m³", "total_increasing"),
    "office/co2": (None, "ppm", "measurement"),
    "house/energy_import": ENERGY,
    "house/energy_export": ENERGY,
    "house/reactive_energy_import": (None, "kvarh", "total_increasing"),
    "house/power": POWER,
    "house/frequency": ("frequency", "Hz", "measurement"),
    "house/power_factor": (None, None, "measurement"),
}
"""Class, unit and state class of values, by device and value. Each protocol has a device."""
GRID, GAS, WATER = (
    ("p1/energy_import_t1", "p1/energy_import_t2"),
    "p1/mbus_1_reading",
    "p1/mbus_2_reading",
)


class House:
    """Gateway, cabinet and Home Assistant, each of which may be started again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.broker = BrokerProcess()
        self.cabinet = Cabinet(directory)
        self.home = HomeAssistant(directory / "home", self.broker.port)
        self.bridge: BridgeProcess | None = None

    def start_bridge(self, tables: str) -> None:
        """Start the bridge with these tables, in place of the one that runs."""
        if self.bridge is not None:
            self.bridge.stop()
        folder = self.directory / "gateway"
        folder.mkdir(exist_ok=True)
        keys = 'home_assistant_prefix = "homeassistant"\n'
        self.bridge = BridgeProcess(folder, self.broker.port, keys + tables)
        self.bridge.start()

    def end(self) -> None:
        self.home.stop()
        if self.bridge is not None and self.bridge.is_running:
            self.bridge.kill()
        self.broker.remove()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.end()


def state_of(shown: dict[str, Any], name: str) -> str | None:
    """Return the state of a value of the gateway, or None if there is no such entity."""
    found = shown.get(f"{GATEWAY}/{name}")
    return None if found is None else found["state"]


def entity_of(shown: dict[str, Any], name: str) -> str:
    entity: str = shown[f"{GATEWAY}/{name}"]["entity_id"]
    return entity


def is_shown(shown: dict[str, Any], *names: str) -> bool:
    return all(state_of(shown, each) not in (None, "unknown", AWAY) for each in names)


def described(shown: dict[str, Any], name: str) -> tuple[str | None, ...]:
    attributes = shown[f"{GATEWAY}/{name}"]["attributes"]
    keys = ("device_class", "unit_of_measurement", "state_class")
    return tuple(attributes.get(key) for key in keys)


def without_port(tables: str, name: str) -> str:
    """Return the tables without those of one port."""
    parts = tables.split("[[serial]]")
    return "[[serial]]".join(each for each in parts if f'\nname = "{name}"\n' not in each[:40])


def is_of(shown: dict[str, Any], device: str) -> list[str]:
    return [each for each in shown if each.startswith(f"{GATEWAY}/{device}/")]


def check_energy_page(home: HomeAssistant, shown: dict[str, Any]) -> None:
    """Configure electricity with tariffs and feed-in, solar, gas and water: no issues."""
    none = {"stat_cost": None, "entity_energy_price": None, "number_energy_price": None}
    returned = {"stat_compensation": None} | {key: none[key] for key in none if key != "stat_cost"}
    answer = home.energy_page(
        {
            "energy_sources": [
                {
                    "type": "grid",
                    "flow_from": [
                        {"stat_energy_from": entity_of(shown, each), **none} for each in GRID
                    ],
                    "flow_to": [
                        {"stat_energy_to": entity_of(shown, "p1/energy_export_t1"), **returned}
                    ],
                    "cost_adjustment_day": 0,
                },
                {
                    "type": "solar",
                    "stat_energy_from": entity_of(shown, "house/energy_export"),
                    "config_entry_solar_forecast": None,
                },
                {"type": "gas", "stat_energy_from": entity_of(shown, GAS), **none},
                {"type": "water", "stat_energy_from": entity_of(shown, WATER), **none},
            ],
            "device_consumption": [
                {"stat_consumption": entity_of(shown, "house/energy_import"), "name": "House"}
            ],
        }
    )
    assert answer == {
        "energy_sources": [[] for _ in answer["energy_sources"]],
        "device_consumption": [[]],
    }


def follow(house: House) -> None:
    """Follow the devices through unplugging, a new name, removal and restarts."""
    home, tables = house.home, house.cabinet.tables
    house.broker.start()
    home.start()
    house.start_bridge(tables)
    shown = home.wait_until(lambda shown: is_shown(shown, *FOUND))
    assert {each: described(shown, each) for each in FOUND} == FOUND
    check_energy_page(home, shown)
    # The cable of the smart meter is pulled, and plugged in again.
    house.cabinet.terminals["p1"].unplug()
    home.wait_until(lambda shown: state_of(shown, GRID[0]) == AWAY)
    assert is_shown(home.shown(), *(each for each in FOUND if not each.startswith("p1/")))
    house.cabinet.terminals["p1"].plug_in()
    home.wait_until(lambda shown: is_shown(shown, *FOUND))
    # A device gets another name, and a port is taken out.
    renamed = tables.replace('name = "linky"\n', 'name = "linky"\ndevice = "french-meter"\n')
    house.start_bridge(without_port(renamed, "office"))
    others = [each for each in FOUND if not each.startswith(("linky/", "office/"))]
    shown = home.wait_until(
        lambda shown: (
            is_shown(shown, *others, "french-meter/energy_import")
            and not is_of(shown, "linky")
            and not is_of(shown, "office")
        )
    )
    # Home Assistant is restarted, and finds all of it again.
    home.stop()
    home.start()
    home.wait_until(lambda shown: is_shown(shown, *others, "french-meter/energy_import"))
    # The gateway is switched off.
    assert house.bridge is not None
    house.bridge.stop()
    home.wait_until(lambda shown: all(each["state"] == AWAY for each in shown.values()))
    assert home.warnings() == []


async def test_home_assistant_shows_the_devices_of_every_protocol_and_follows_them(
    house: House,
) -> None:
    async with house.cabinet.working():
        await asyncio.to_thread(follow, house)

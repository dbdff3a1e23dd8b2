"""The displayed name of a port."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register

from tests.bridge.running import port_of


def test_a_port_without_a_device_lends_its_own_name() -> None:
    assert port_of("a", Path("x"), "json").device_name == "a"
    assert port_of("a", Path("x"), "json", device="kettle").device_name == "kettle"


PUMP = Device(name="pump", address=5, registers=(Register(name="speed", at=0),))


@pytest.mark.parametrize(
    ("framing", "keys", "name", "is_its"),
    [
        ("json", {}, "a", True),
        ("json", {"device": "kettle"}, "a", False),
        ("json", {}, "a-3", False),
        ("mysensors", {}, "a-3", True),
        ("mysensors", {}, "b-3", False),
        ("board", {}, "board-0000002a", True),
        ("board", {}, "a", False),
        ("modbus", {"devices": (PUMP,)}, "pump", True),
        ("modbus", {"devices": (PUMP,)}, "a", False),
    ],
)
def test_a_port_has_the_devices_that_its_protocol_gives_it(
    framing: str, keys: dict[str, object], name: str, is_its: bool
) -> None:
    assert port_of("a", Path("x"), framing, **keys).has_device(name) == is_its  # type: ignore[arg-type]

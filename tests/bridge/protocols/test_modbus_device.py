"""One table of a Modbus device: settings that are refused, and those that registers inherit."""

import pytest
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from pydantic_core import PydanticCustomError

LEVEL = Register(name="level", at=0)


def test_two_quantities_of_one_name_are_refused() -> None:
    with pytest.raises(PydanticCustomError, match="name level once"):
        Device(name="b", address=9, registers=(LEVEL, LEVEL)).check()


def test_a_quantity_that_no_request_could_ask_for_is_refused() -> None:
    wide = (Register(name="energy", at=0, type="u64"),)
    with pytest.raises(PydanticCustomError, match=r'at least 4: "energy" \(u64\)'):
        Device(name="b", address=9, registers=wide, registers_per_request=3).check()


def test_a_register_has_the_orders_and_numbers_of_its_device_and_that_those_of_its_port() -> None:
    registers = (
        LEVEL,
        Register(name="own", at=1, word_order="big", byte_order="big", no_value=(7,)),
        Register(name="bit", at=0, kind="coil"),
    )
    device = Device(
        name="b", address=1, registers=registers, word_order="little", no_value=(0xFFFF, 1 << 31)
    )
    level, own, bit = device.resolved(word_order="big", byte_order="little").registers
    assert (level.word_order, level.byte_order, level.no_value) == ("little", "little", (0xFFFF,))
    assert (own.word_order, own.byte_order, own.no_value) == ("big", "big", (7,))
    assert bit == registers[2]

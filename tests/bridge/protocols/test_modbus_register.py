"""Where a quantity of a Modbus device is."""

import pytest
from firmware_bridge.protocols.modbus_register import Register
from pydantic_core import PydanticCustomError


@pytest.mark.parametrize(
    ("register", "end"),
    [
        (Register(name="a", at=10), 11),
        (Register(name="a", at=10, type="f32"), 12),
        (Register(name="a", at=10, type="u64"), 14),
        (Register(name="a", at=10, kind="coil"), 11),
    ],
)
def test_a_number_takes_as_many_registers_as_it_has_words(register: Register, end: int) -> None:
    register.check()
    assert register.end == end


@pytest.mark.parametrize(
    ("register", "mend"),
    [
        (Register(name="a", at=65535, type="u32"), "a register of at most 65534"),
        (
            Register(name="a", at=1, kind="coil", scale=2, given=frozenset({"scale"})),
            "it is a bit",
        ),
    ],
)
def test_what_no_device_has_is_refused(register: Register, mend: str) -> None:
    with pytest.raises(PydanticCustomError, match=mend):
        register.check()

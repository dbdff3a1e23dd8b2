"""Extension codes of M-Bus units, alone and in telegrams of real meters (numbers changed)."""

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_extensions import meaning_of
from firmware_bridge.protocols.mbus_values import Meaning


@pytest.mark.parametrize(
    ("code", "suffix", "unit", "form"),
    [
        (0x00, "", "m3/h", "number"),
        (0x3C, "_export", "m3/h", "number"),
        (0x21, "_vife_21", "m3/h/min", "number"),
        (0x28, "_vife_28", "m3/h/pulse", "number"),
        (0x33, "_vife_33", "m3/h/K/l", "number"),  # Aquametro CALEC MB
        (0x39, "_start_time", None, "time"),
        (0x40, "_lower_limit", "m3/h", "number"),
        (0x48, "_upper_limit", "m3/h", "number"),
        (0x49, "_upper_limit_count", None, "number"),
        (0x4A, "_upper_limit_first_begin_time", None, "time"),
        (0x47, "_lower_limit_end_time", None, "time"),
        (0x45, "_vife_45", "m3/h", "number"),
        (0x50, "_lower_limit_first_duration", "s", "number"),
        (0x5E, "_upper_limit_duration", "h", "number"),
        (0x66, "_duration", "h", "number"),
        (0x6C, "_during_upper_limit", "m3/h", "number"),
        (0x6F, "_time", None, "time"),
        (0x7E, "_vife_7e", "m3/h", "number"),
    ],
)
def test_an_extension_code_qualifies_a_value_or_gives_it_another_meaning(
    code: int, suffix: str, unit: str | None, form: str
) -> None:
    meaning, found = meaning_of(0xBE, [code], b"")
    assert (meaning.name, found) == ("volume_flow", suffix)
    assert (meaning.unit, meaning.form) == (unit, form)
    assert meaning.power_of_ten == 0


@pytest.mark.parametrize(("code", "power"), [(0x70, -6), (0x75, -1), (0x77, 1), (0x7D, 3)])
def test_an_extension_code_can_change_the_scale(code: int, power: int) -> None:
    assert meaning_of(0xBE, [code], b"")[0].power_of_ten == power


def test_an_extension_code_of_an_error_leaves_the_value_out() -> None:
    with pytest.raises(Damaged, match="not_measured"):
        meaning_of(0x86, [0x15], b"")


def test_a_unit_that_is_written_as_text_is_the_unit_if_it_is_known() -> None:
    assert meaning_of(0xFC, [0x74], b"%RH") == (Meaning("humidity", "%RH", -2), "")
    assert meaning_of(0x7C, [], b"cust. ID") == (Meaning("cust._ID"), "")

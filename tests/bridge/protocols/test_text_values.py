"""Values in lines of text: which texts are numbers, and which numbers are readings."""

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.text_values import in_range, is_nothing, name_for, value_of
from firmware_bridge.readings.kinds import Kind
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("21.5", 21.5),
        ("-3", -3),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("true", True),
        ("True", True),
        ("21,5", 21.5),
        (" - 21.5000001 ", -21.5000001),
        ("00026107.7034231", 26107.7034231),
        ("1.234,5", 1234.5),
        ("1,013.25", 1013.25),
        ("-1'234'567", -1234567.0),
        ("1,23.5", "1,23.5"),
        ("0x1F", "0x1F"),
        ("\N{MINUS SIGN}5.5", -5.5),
        ("error 5", "error 5"),
        ("nano", "nano"),
        ("0000000000000000000000012", 12),
        ("89430103524031234567", "89430103524031234567"),
        ("-5-", "-5-"),
        ("1_000", "1_000"),
        ("\u0661", "\u0661"),
    ],
)
def test_what_looks_like_a_number_is_one(text: str, value: object) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("number", [2**63, -(2**63), float("inf"), float("nan")])
def test_a_number_that_is_no_reading_is_damage(number: float) -> None:
    with pytest.raises(Damaged, match="value"):
        in_range(number)
    assert in_range(2**63 - 1) == 2**63 - 1


@pytest.mark.parametrize(
    "text",
    ["", " ", "nan", "-NaN", "nan(0x8)", "inf", "+Infinity", "ovf", "-", "--", "--.-", "***",
     "1.#QNAN", "-1.#IND", "n/a", "#N/A", "####", "NULL", "None", "undefined"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [None, "number", "boolean"])
def test_what_sensors_write_in_place_of_a_value_is_not_measured(text: str, kind: Kind) -> None:
    assert is_nothing(text)
    with pytest.raises(Damaged, match="not_measured"):
        value_of(text, kind)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [("21.5", "text", "21.5"), ("--", "text", "--"), ("On", "boolean", True), ("0", "number", 0)],
)
def test_a_value_has_the_type_of_its_quantity(text: str, kind: Kind, value: object) -> None:
    found = value_of(text, kind)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["ERR", "error", "Failed", "timeout", "nc"])
def test_a_fault_does_not_make_a_new_quantity_a_text(text: str) -> None:
    with pytest.raises(Damaged, match="not_measured"):
        value_of(text)
    assert value_of(text, "text") == text


@pytest.mark.parametrize("text", ["OL", "O.L", ".OL", "0.L", "-OL", "OVLD"])
def test_an_overload_of_a_multimeter_is_not_measured_where_the_quantity_is_a_number(
    text: str,
) -> None:
    with pytest.raises(Damaged, match="not_measured"):
        value_of(text, "number")
    assert value_of("OL") == "OL", "an uninterruptible power supply is on line"


@pytest.mark.parametrize("text", ["9.90000000E+37", "-9.9E37", "+9.91000000E+37"])
def test_a_number_that_instruments_send_for_infinity_and_nan_is_not_measured(text: str) -> None:
    with pytest.raises(Damaged, match="not_measured"):
        value_of(text)


def test_a_number_may_be_hexadecimal_where_a_number_is_declared() -> None:
    assert value_of("0x1F", "number") == 31
    with pytest.raises(Damaged, match="value"):
        value_of("0xFFFFFFFFFFFFFFFF", "number")


@pytest.mark.parametrize(("text", "kind"), [("true", "number"), ("x", "number"), ("2", "boolean")])
def test_a_value_of_another_type_is_damage(text: str, kind: Kind) -> None:
    with pytest.raises(Damaged, match="type"):
        value_of(text, kind)


def test_an_integer_of_more_than_64_bits_loses_no_digits_in_a_quantity_of_numbers() -> None:
    with pytest.raises(Damaged, match="value"):
        value_of("89430103524031234567", "number")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("temperature", "temperature"),
        ("Temperature (C)", "Temperature_C"),
        ("Au\u00dfen t\u00e4glich", "Au_en_taglich"),
        ("___", ""),
        ("\udcff", ""),
    ],
)
def test_a_name_of_a_device_becomes_one_of_a_quantity(text: str, name: str) -> None:
    assert name_for(text) == name


@given(
    st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: abs(number) not in (9.9e37, 9.91e37)
    )
)
def test_every_number_is_read_as_it_was_written(number: float) -> None:
    assert value_of(repr(number)) == number

"""Units after a number, in the spellings of sketches."""

import pytest
from firmware_bridge.protocols.joined_units import split_unit, unit_of
from firmware_bridge.protocols.key_value import KeyValueLines


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("21.5C", "21.5", "Cel"),
        ("21.5 *C", "21.5", "Cel"),
        ("-5,5\N{DEGREE SIGN}C", "-5,5", "Cel"),
        ("70.1F", "70.1", "degF"),
        ("1013.2 hPa", "1013.2", "hPa"),
        ("415 PPM", "415", "ppm"),
        ("23\N{GREEK SMALL LETTER MU}A", "23", "uA"),
        ("12\N{MICRO SIGN}g/m\N{SUPERSCRIPT THREE}", "12", "ug/m3"),
        ("3.5L/min", "3.5", "l/min"),
        ("4.7kOhm", "4.7", "kOhm"),
        ("+  123.45 g", "+  123.45", "g"),
        ("-   0.120kg", "-   0.120", "kg"),
        ("1,234.5 g", "1,234.5", "g"),
        ("\N{MINUS SIGN}.5V", "\N{MINUS SIGN}.5", "V"),
        ("+1.234567E+00VDC", "+1.234567E+00", "V"),
        ("22.1 'C", "22.1", "Cel"),
        ("12.5 lbs", "12.5", "lb"),
        ("23.45 degrees C", "23.45", "Cel"),
        ("70.1 deg. F", "70.1", "degF"),
        ("23.45\N{DEGREE SIGN} C", "23.45", "Cel"),
        ("53.21 KOhms", "53.21", "kOhm"),
        ("0.12\N{MICRO SIGN}Sv/h", "0.12", "uSv/h"),
        ("45.0 Minutes", "45.0", "min"),
        # The signs of Spanish and Portuguese keyboards, and of those of Apple.
        ("21.5\N{MASCULINE ORDINAL INDICATOR}C", "21.5", "Cel"),
        ("21.5 \N{MASCULINE ORDINAL INDICATOR} C", "21.5", "Cel"),
        ("21.5\N{RING ABOVE}F", "21.5", "degF"),
        ("180\N{MASCULINE ORDINAL INDICATOR}", "180", "deg"),
        ("70.5\N{DEGREE FAHRENHEIT}", "70.5", "degF"),
        ("40\N{FULLWIDTH PERCENT SIGN}", "40", "%"),
        # Adafruit's examples for AHT20 and SHT4x; relative humidity in other languages.
        ("45.30% rH", "45.30", "%RH"),
        ("45 % RH", "45", "%RH"),
        ("45%rF", "45", "%RH"),
        ("45 % r.F.", "45", "%RH"),
        ("45 % HR", "45", "%RH"),
        # The examples of SparkFun and Adafruit for BMP180, LSM9DS1 and MPU-6050.
        ("1010.12 mb", "1010.12", "hPa"),
        ("50 meters", "50", "m"),
        ("164 feet", "164", "ft"),
        ("7.89 uT", "7.89", "uT"),
        ("-0.01 rad/s", "-0.01", "rad/s"),
        ("760.1 mmHg", "760.1", "mmHg"),
        ("12.3 knots", "12.3", "kn"),
    ],
)
def test_a_number_with_a_unit_is_split(text: str, number: str, unit: str) -> None:
    assert split_unit(text) == (number, unit)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("nan\N{DEGREE SIGN}C", "Cel"), ("NAN %", "%"), ("--hPa", "hPa"), ("**** ppm", "ppm")],
)
def test_a_placeholder_of_a_number_may_have_a_unit(text: str, unit: str) -> None:
    assert split_unit(text)[1] == unit


@pytest.mark.parametrize(
    "text",
    ["12A", "1e5A", "-C", "info", "1F", "5x", "10Mbps", "v1.2", "C", "", "1.2.3 V", "3 of 4"],
)
def test_other_texts_stay_whole(text: str) -> None:
    assert split_unit(text) == (text, None)


def test_a_word_that_is_no_unit_has_none() -> None:
    assert unit_of("connected") is None
    assert unit_of("%") == "%"


def measured(line: bytes) -> dict[str, object]:
    """Decode a line of pairs. Return the value and the unit of each quantity."""
    (frame,) = KeyValueLines().decoder().feed(line + b"\n")
    return {name: (each.value, each.unit) for name, (each,) in frame.quantities.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ADC=512 -> 2.50 V, T=21.5 C", {"ADC": (512, None), "T": (21.5, "Cel")}),
        ("MQ2=512, 2.5 V", {"MQ2": (512, None)}),
        ("V=3.3 \xb10.1 V", {"V": (3.3, "V")}),
        ("V=3.3 +/- 0.1 V", {"V": (3.3, "V")}),
        ("RH=45.30 % rH T=21.5 C", {"RH": (45.3, "%RH"), "T": (21.5, "Cel")}),
        ("H=45 % HR", {"H": (45, "%RH")}),
        ("SpO2=98 % HR = 72", {"SpO2": (98, "%"), "HR": (72, None)}),
        ("T=21.5\xbaC H=40 %", {"T": (21.5, "Cel"), "H": (40, "%")}),
    ],
)
def test_a_unit_belongs_to_the_number_before_it(line: str, expected: dict[str, object]) -> None:
    assert measured(line.encode()) == expected


def test_the_sign_of_ordinals_in_place_of_a_degree_may_be_in_latin_1() -> None:
    assert measured("T=21.5\xbaC H=40 %".encode("latin-1")) == {
        "T": (21.5, "Cel"),
        "H": (40, "%"),
    }

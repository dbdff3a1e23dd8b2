"""Lines of `key=value` pairs."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.key_value import KeyValueLines, PairReader
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement

GROWTH_MAX = 8
"""Growth of the processor time of a line that is four times as long: 4 if the time is linear, and
16 if each comma searches the whole line, as it once did."""
NOISE_SECONDS = 0.005


def takes_linear_time(read: Callable[[int], None], length: int) -> bool:
    """Return True if `read(length)` takes about four times as long as a quarter of the length."""

    def seconds(length: int) -> float:
        begin = time.process_time()
        read(length)
        return time.process_time() - begin

    short, long = (min(seconds(each) for _ in range(3)) for each in (length // 4, length))
    return long < GROWTH_MAX * short + NOISE_SECONDS


def values(*lines: str, skipped: Counter[str] | None = None) -> dict[str, Any]:
    """Decode lines and return the values of the last line."""
    reader = PairReader(Kinds())
    *_, found = (reader.read(line, Counter() if skipped is None else skipped) for line in lines)
    return {name: each.value for name, each in found.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "temperature=21.5 count=-3;door=open, fault=true gone=",
            {"temperature": 21.5, "count": -3, "door": "open", "fault": True},
        ),
        ("a=1e3", {"a": 1000.0}),
        ("a=nan b=1_000", {"b": "1_000"}),
        ("a=21,5 b=1,c=2", {"a": 21.5, "b": 1, "c": 2}),
        ("a=1,b=2,3", {"a": 1, "b": 2.3}),
        ("a = 21.5, b = -.5;c= +3", {"a": 21.5, "b": -0.5, "c": 3}),
        ("a= b=2", {"b": 2}),
        ("temp(C)=21.5", {"temp_C": 21.5}),
        ("a=inf b=-ovf c=-- d=1.#QNAN e=n/a f=1", {"f": 1}),
        (" ".join(f"a{n}=1" for n in range(200)), {f"a{n}": 1 for n in range(200)}),
        ("a==", {"a": "="}),
        ("a=21.5|b=40", {"a": 21.5, "b": 40}),
        ("a=21.5&b=40", {"a": 21.5, "b": 40}),
        ("p=1,013.25 t=2", {"p": 1013.25, "t": 2}),
        (
            'name="Living room; east" s=\'open\' t="21.5"',
            {"name": "Living room; east", "s": "open", "t": 21.5},
        ),
        ("a='5 b=3", {"a": "'5", "b": 3}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "syntax"),
        ("a=1 b", "syntax"),
        ("#=1", "name"),
        ("ets Jul 29 2019 12:21:46", "syntax"),
        ("Wi-Fi is connected rssi=-60 channel=6", "syntax"),
        ("load:0x3fff0030,len:1184", "syntax"),
        ("a=1e999", "value"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason


@pytest.mark.parametrize(
    ("line", "expected", "reason"),
    [
        ("a=1 a=2", {"a": 1}, "name"),
        ("a=1 #=2 b=3", {"a": 1, "b": 3}, "name"),
        ("temperature=21.5 ok humidity=40", {"temperature": 21.5, "humidity": 40}, "syntax"),
        ("rssi=-60 dBm A", {"rssi": -60}, "syntax"),
        ("a=1 b=1e999", {"a": 1}, "value"),
        ("a=1 b=\udcff", {"a": 1}, "text"),
    ],
)
def test_a_pair_that_cannot_be_read_costs_itself(
    line: str, expected: dict[str, Any], reason: str
) -> None:
    skipped: Counter[str] = Counter()
    assert values(line, skipped=skipped) == expected
    assert skipped == {reason: 1}


def measured(line: str, separator: Literal["=", ":"] = "=") -> dict[str, tuple[Any, str | None]]:
    """Decode one line. Return the value and the unit of each quantity."""
    decoder = KeyValueLines(value_separator=separator).decoder()
    (frame,) = decoder.feed(line.encode("latin-1") + b"\r\n")
    return {name: (each.value, each.unit) for name, (each,) in frame.quantities.items()}


def test_units_after_values_are_no_prose() -> None:
    decoder = KeyValueLines().decoder()
    (frame,) = decoder.feed("T = 21.5 °C, H=40 %, P=1013.2 hPa, V=-- V\n".encode())
    assert frame.quantities == {
        "T": [Measurement("T", 21.5, "Cel")],
        "H": [Measurement("H", 40, "%")],
        "P": [Measurement("P", 1013.2, "hPa")],
    }
    assert decoder.tally.skipped == {"not_measured": 1}


@pytest.mark.parametrize(
    ("line", "separator", "expected"),
    [
        (
            "Humidity: 45.30%  Temperature: 23.40°C 74.12°F  Heat index: 23.05°C 73.49°F",
            ":",
            {"Humidity": (45.3, "%"), "Temperature": (23.4, "Cel"), "Heat_index": (23.05, "Cel")},
        ),
        (
            "Humidity: 45.30 %\tTemperature: 23.40 *C 74.12 *F\tHeat index: 23.05 *C 73.49 *F",
            ":",
            {"Humidity": (45.3, "%"), "Temperature": (23.4, "Cel"), "Heat_index": (23.05, "Cel")},
        ),
        (
            "Inside Temp: 21.5 C Outside Temp: -3.2 C",
            ":",
            {"Inside_Temp": (21.5, "Cel"), "Outside_Temp": (-3.2, "Cel")},
        ),
        ("Temp C: 21.50 Temp F: 70.70", ":", {"Temp_C": (21.5, None), "Temp_F": (70.7, None)}),
        (
            "Temp *C = 22.95\t\tHum. % = 45.12",
            "=",
            {"Temp_C": (22.95, None), "Hum.": (45.12, None)},
        ),
        ("Temperature: 23.45 degrees C", ":", {"Temperature": (23.45, "Cel")}),
        (
            "Wind speed: 12.3 km/h, gust: 20 km/h",
            ":",
            {"Wind_speed": (12.3, "km/h"), "gust": (20, "km/h")},
        ),
        (
            "Water temp: 8.5, Air temp: -3, Door: 1",
            ":",
            {"Water_temp": (8.5, None), "Air_temp": (-3, None), "Door": (1, None)},
        ),
        ("Soil Moisture:45%", ":", {"Soil_Moisture": (45, "%")}),
        ("Approx. Altitude = 41.11 m", "=", {"Approx._Altitude": (41.11, "m")}),
        ("CO2 Concentration (ppm) = 612", "=", {"CO2_Concentration_ppm": (612, None)}),
        ("12:34:56.789 -> T=21.5 H=40", "=", {"T": (21.5, None), "H": (40, None)}),
    ],
)
def test_a_name_may_have_several_words_where_the_whole_line_is_explained(
    line: str, separator: Literal["=", ":"], expected: dict[str, Any]
) -> None:
    assert measured(line, separator) == expected


@pytest.mark.parametrize(
    "line",
    [
        "rst cause:2, boot mode:(3,6)",
        "IP address: 192.168.1.5",
        "Connected in 3 s retries: 5",
        "Soil moisture: dry",
        "time: 2026-01-01 12:00:00",
        "DATE : 2026-01-01 12:00:00 +0100",
        "Device Address: 28FF641E8416035C  Temp C: 21.5",
        "Failed to read from DHT sensor!",
    ],
)
def test_prose_with_a_colon_is_damage(line: str) -> None:
    decoder = KeyValueLines(value_separator=":").decoder()
    assert decoder.feed(line.encode() + b"\n") == []
    assert decoder.tally.damaged == {"syntax": 1}


@pytest.mark.parametrize(
    "line", ["<t=21.5;h=40>", "{t=21.5,h=40}", "[t=21.5 h=40]", "$t=21.5|h=40#"]
)
def test_brackets_around_a_line_belong_to_no_value(line: str) -> None:
    assert measured(line) == {"t": (21.5, None), "h": (40, None)}


def test_placeholders_with_units_do_not_make_a_new_quantity_a_text() -> None:
    decoder = KeyValueLines().decoder()
    first, second = decoder.feed("T=nan°C H=40%\nT=21.5°C H=--%\n".encode())
    assert (list(first.quantities), list(second.quantities)) == (["H"], ["T"])
    assert decoder.tally.skipped == {"not_measured": 2}


def test_a_quantity_keeps_the_type_of_its_first_value() -> None:
    skipped: Counter[str] = Counter()
    assert values("a=1 b=2", "a=ERR b=3", skipped=skipped) == {"b": 3}
    assert skipped == {"type": 1}
    assert values("id=12A4 a=1", "id=0012 a=1") == {"id": "0012", "a": 1}


def test_a_line_in_which_a_declared_quantity_is_of_another_type_is_damage() -> None:
    decoder = KeyValueLines(types={"mode": "number"}).decoder()
    assert decoder.feed(b"mode=DIO clock=2\n") == []
    assert decoder.tally.damaged == {"type": 1}
    (frame,) = decoder.feed(b"mode=3 clock=2 note=\xff\n")
    assert list(frame.quantities) == ["mode", "clock"]
    assert decoder.tally.skipped == {"text": 1}


@pytest.mark.parametrize(
    ("written", "value", "unit"),
    [
        ("21.5C", 21.5, "Cel"),
        ("21,5\N{DEGREE SIGN}C", 21.5, "Cel"),
        ("-3V", -3, "V"),
        ("40%", 40, "%"),
        ("1013.2hPa", 1013.2, "hPa"),
        ("2.5A", 2.5, "A"),
        ("12A", "12A", None),
        ("300Lux", 300, "lx"),
        ("50.0hz", 50.0, "Hz"),
        ("1.2k\N{OHM SIGN}", 1.2, "kOhm"),
        ("12\N{MICRO SIGN}g/m\N{SUPERSCRIPT THREE}", 12, "ug/m3"),
        ("5L", 5, "l"),
        ("0012", 12, None),
        ("12A4", "12A4", None),
        ("v1.2", "v1.2", None),
        ("10Mbps", "10Mbps", None),
    ],
)
def test_a_unit_may_be_joined_to_its_number(written: str, value: object, unit: str | None) -> None:
    (frame,) = KeyValueLines().decoder().feed(f"a={written}\n".encode())
    (found,) = frame.quantities["a"]
    assert (found.value, found.unit) == (value, unit)


def test_a_quantity_that_is_a_text_keeps_units_in_it() -> None:
    decoder = KeyValueLines(types={"a": "text"}).decoder()
    (frame,) = decoder.feed(b"a=21.5C\n")
    assert frame.quantities["a"][0].value == "21.5C"


def test_a_line_of_commas_is_read_in_a_moment() -> None:
    def read(commas: int) -> None:
        KeyValueLines().decoder().feed(b"a=" + b"1," * commas + b"1\n")

    assert takes_linear_time(read, 2000)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T:21.5 H:40.2", {"T": 21.5, "H": 40.2}),
        ("T:21,5,H:40;door:open", {"T": 21.5, "H": 40, "door": "open"}),
        ("T : -3 C, H: 40 %", {"T": -3, "H": 40}),
        ("T:21.5 H=40", {"T": 21.5, "H": 40}),
        ("at:12:21:46 T:1", {"at": "12:21:46", "T": 1}),
        ("12:21:46 T:1 H:2", {"T": 1, "H": 2}),
        ('room:"Living: east" T:1', {"room": "Living: east", "T": 1}),
    ],
)
def test_pairs_with_colons_are_read_where_the_configuration_has_them(
    line: str, expected: dict[str, Any]
) -> None:
    (frame,) = KeyValueLines(value_separator=":").decoder().feed(f"{line}\n".encode())
    assert {name: each.value for name, (each,) in frame.quantities.items()} == expected


@pytest.mark.parametrize("piece", ["a", "a :", "a ", ":", 'a:"', "a b: 1", "a  ", "a=1 b"])
def test_no_line_with_colons_takes_long(piece: str) -> None:
    def read(characters: int) -> None:
        reader = PairReader(Kinds(), takes_colons=True)
        with contextlib.suppress(Damaged):
            reader.read(piece * (characters // len(piece)), Counter())

    assert takes_linear_time(read, 4096)

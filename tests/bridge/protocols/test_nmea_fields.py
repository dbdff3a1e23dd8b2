"""Fields of NMEA 0183 sentences of weather instruments, depth sounders and engines: names, units,
and what counts as not measured."""

from collections import Counter

import pytest
from firmware_bridge.protocols.nmea_sentence import frame_of

Fields = dict[str, tuple[object, str | None]]


def numbers(body: str, skipped: Counter[str] | None = None) -> Fields:
    """Return the numbers of a sentence with their units, by field."""
    (found,) = frame_of(b"$", body.encode(), skipped).quantities.values()
    return {
        each.name.partition("/")[2]: (each.value, each.unit)
        for each in found
        if not isinstance(each.value, str)
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("WIMWV,214.8,R,5.3,M,A", {"angle": (214.8, "deg"), "speed": (5.3, "m/s")}),
        ("WIMWV,214.8,R,5.3,K,A", {"angle": (214.8, "deg"), "speed": (5.3, "km/h")}),
        ("WIMWV,214.8,R,5.3,N,A", {"angle": (214.8, "deg"), "speed": (5.3, None)}),
        ("IIMWV,30,T,1.85,M,A", {"angle_true": (30.0, "deg"), "speed_true": (1.85, "m/s")}),
        (
            "WIMWD,250.0,T,245.0,M,12.5,N,6.4,M",
            {
                "dirT": (250.0, "deg"),
                "dirM": (245.0, "deg"),
                "speedN": (12.5, None),
                "speedM": (6.4, "m/s"),
            },
        ),
        (
            "SDDBT,7.8,f,2.4,M,1.3,F",
            {"depthf": (7.8, None), "depthm": (2.4, "m"), "depthfath": (1.3, None)},
        ),
        (
            "SDDBS,7.8,f,2.4,M,1.3,F",
            {"depthf": (7.8, None), "depthm": (2.4, "m"), "depthfath": (1.3, None)},
        ),
        ("SDDPT,2.4,-0.3", {"depth": (2.4, "m"), "offset": (-0.3, "m")}),
        ("VWMTW,18.5,C", {"temp": (18.5, "Cel")}),
        ("VWMTW,65.3,F", {"temp": (65.3, "degF")}),
        ("VWVPW,4.5,N,2.3,M", {"spdN": (4.5, None), "spdK": (2.3, "m/s")}),
        ("ERRPM,E,2,2400,,A", {"engineshaftnum": (2, None), "rpm_engine_2": (2400.0, "1/min")}),
        (
            "WIMDA,29.9870,I,1.0154,B,21.9,C,,C,45.3,,9.5,C,286.8,T,298.4,M,0.6,N,0.3,M",
            {
                "pressI": (29.987, "inHg"),
                "pressB": (1.0154, "bar"),
                "airTemp": (21.9, "Cel"),
                "humidityRel": (45.3, "%RH"),
                "dewPoint": (9.5, "Cel"),
                "dirT": (286.8, "deg"),
                "dirM": (298.4, "deg"),
                "speedN": (0.6, None),
                "speedM": (0.3, "m/s"),
            },
        ),
        ("WIMTA,-21.9,C", {"temp": (-21.9, "Cel")}),
        (
            "WIVWR,045,L,12.6,N,6.5,M,23.3,K",
            {
                "angle": (45.0, "deg"),
                "speedN": (12.6, None),
                "speedM": (6.5, "m/s"),
                "speedK": (23.3, "km/h"),
            },
        ),
        (
            "GPVTG,054.7,034.4,005.5,010.2",
            {
                "cogt": (54.7, "deg"),
                "cogm": (34.4, "deg"),
                "sogn": (5.5, None),
                "sogk": (10.2, "km/h"),
            },
        ),
        ("PGRMT,VER 1,P,P,R,R,P,,23,R", {"temp": (23.0, "Cel")}),
        (
            "PGRME,15.0,M,45.0,M,25.0,M",
            {"HPE": (15.0, "m"), "VPE": (45.0, "m"), "EPE": (25.0, "m")},
        ),
    ],
)
def test_numbers_have_the_units_of_the_standard(body: str, expected: Fields) -> None:
    assert numbers(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("YXXDR,C,19.52,C,TempAir", {"temperature_TempAir": (19.52, "Cel")}),
        ("YXXDR,P,1.02481,B,Barometer", {"pressure_Barometer": (1.02481, "bar")}),
        (
            "YXXDR,A,-1.5,D,PITCH,A,2.2,D,ROLL",
            {"angle_PITCH": (-1.5, "deg"), "angle_ROLL": (2.2, "deg")},
        ),
        (
            "WIXDR,A,231,D,0,S,0.1,M,0",
            {"angle_0": (231.0, "deg"), "speed_0": (0.1, "m/s")},
        ),
        (
            "WIXDR,C,23.5,C,0,H,34.5,P,0,P,1009.6,H,0,C,,C,1",
            {
                "temperature_0": (23.5, "Cel"),
                "humidity_0": (34.5, "%RH"),
                "pressure_0": (1009.6, "hPa"),
            },
        ),
        ("WIXDR,V,0.02,M,0", {"volume_0": (0.02, None)}),
        ("IIXDR,C,22.0,C,", {"temperature": (22.0, "Cel")}),
        ("IIXDR,S,1,,Bilge pump", {"switch_Bilge_pump": (1.0, None)}),
        ("IIXDR,T,1800,R,ENGINE#0", {"revolutions_ENGINE_0": (1800.0, "1/min")}),
    ],
)
def test_a_transducer_has_a_name_and_a_unit_of_its_own(body: str, expected: Fields) -> None:
    assert numbers(body) == expected


def test_a_transducer_with_the_name_of_another_or_no_usable_name_costs_itself() -> None:
    skipped: Counter[str] = Counter()
    body = f"YXXDR,C,1,C,A,C,2,C,A,C,3,C,{'x' * 64},C,4,C,B"
    assert numbers(body, skipped) == {"temperature_A": (1.0, "Cel"), "temperature_B": (4.0, "Cel")}
    assert skipped == {"name": 2}


@pytest.mark.parametrize(
    ("body", "left", "count"),
    [
        ("WIMWV,000.0,R,000.0,N,V", {}, 2),
        ("WIMWV,,R,,N,V", {}, 0),
        ("TIROT,0.0,V", {}, 1),
        ("IIRSA,-10.5,A,0.0,V", {"stbdangle": (-10.5, "deg")}, 1),
        ("IIRSA,0.0,V,0.0,V", {}, 2),
        ("HETHS,0.0,V", {}, 1),
        ("HETHS,98.3,A", {"headt": (98.3, "deg")}, 0),
        (
            "VWVBW,5.1,0.2,A,0.0,0.0,V",
            {"longwaterspd": (5.1, None), "transwaterspd": (0.2, None)},
            2,
        ),
        ("GPXTE,V,V,0.00,L,N", {}, 1),
        ("GPXTE,A,A,0.67,L,N", {"ctrkerr": (0.67, None)}, 0),
        ("GPGLL,0000.0000,N,00000.0000,E,000001,V,N", {}, 1),
        ("GPGLL,0000.0,N,00000.0,E,000001,A,A", {"lat": (0.0, "lat"), "lon": (0.0, "lon")}, 0),
        ("GPGLL,4930.0,N,00000.0,E,000001,V,N", {"lat": (49.5, "lat"), "lon": (0.0, "lon")}, 0),
    ],
)
def test_numbers_that_the_device_marks_as_invalid_are_not_measured(
    body: str, left: Fields, count: int
) -> None:
    skipped: Counter[str] = Counter()
    assert numbers(body, skipped) == left
    assert skipped["not_measured"] == skipped.total() == count


def test_a_receiver_without_a_fix_is_not_at_0_0() -> None:
    skipped: Counter[str] = Counter()
    body = "GPGGA,000001.0,0000.0000,N,00000.0000,E,0,00,99.0,0.0,M,,M,,"
    assert not {"lat", "lon"} & numbers(body, skipped).keys()
    assert skipped == {"not_measured": 1}


def test_offsets_of_a_datum_are_no_position_and_no_damage() -> None:
    skipped: Counter[str] = Counter()
    found = numbers("GPDTM,W84,,0.03,N,0.0,E,0.0,W84", skipped)
    assert (found["latOfset"], found["lonOfset"]) == ((0.03, None), (0.0, None))
    assert not skipped


def test_small_letters_of_a_hemisphere_count() -> None:
    found = numbers("GPGLL,4916.45,s,12311.12,w,225444,A")
    assert (found["lat"][0], found["lon"][0]) == (-49.2741666667, -123.1853333333)

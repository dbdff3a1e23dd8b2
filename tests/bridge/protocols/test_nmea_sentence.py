"""Single NMEA 0183 sentences, with the fields that the library has names for."""

from collections import Counter

import pytest
from firmware_bridge.protocols.nmea_sentence import frame_of

from gateway.process.declarations.units import UNITS

GGA = "GPGGA,214350,4023.8600,N,00339.1630,W,8,09,2.0,695.7,M,51.6,M,,"


def test_a_sentence_becomes_its_fields_with_units() -> None:
    frame = frame_of(b"$", GGA.encode())
    fields = {found.name: (found.value, found.unit) for found in frame.quantities["gga"]}
    assert fields["gga/lat"] == (40.3976666667, "lat")
    assert fields["gga/lon"] == (-3.6527166667, "lon")
    assert fields["gga/alt"] == (695.7, "m")
    assert fields["gga/time"] == ("21:43:50", None)
    assert fields["gga/sentence"] == (GGA, None)
    assert "gga/diffAge" not in fields, "an empty field is no measurement"


@pytest.mark.parametrize(
    ("body", "units"),
    [
        (GGA, {"numSV": "count", "HDOP": "/", "sep": "m", "quality": None}),
        (
            "GPRMC,120000,A,5230.0,N,01330.0,E,12.5,271.3,241126,3.2,E,A",
            {"spd": None, "cog": "deg", "mv": "deg", "lat": "lat"},
        ),
        ("GPVTG,271.3,T,268.1,M,12.5,N,23.2,K,A", {"cogt": "deg", "sogn": None, "sogk": "km/h"}),
        (
            "GPGSV,1,1,01,07,45,180,38",
            {"numSV": "count", "elv_01": "deg", "az_01": "deg", "cno_01": None},
        ),
        ("PGRMZ,2282,f,3", {"alt": None, "altUnit": None}),
        ("GPGST,120000,1.1,2.0,1.5,30.0,1.7,1.6,3.1", {"stdAlt": "m", "orient": "deg"}),
    ],
)
def test_a_field_has_its_registered_unit_and_others_have_none(
    body: str, units: dict[str, str | None]
) -> None:
    (found,) = frame_of(b"$", body.encode()).quantities.values()
    by_name = {each.name.partition("/")[2]: each.unit for each in found}
    assert {name: by_name[name] for name in units} == units
    assert {unit for unit in by_name.values() if unit is not None} <= UNITS


@pytest.mark.parametrize("nothing", ["--.-", "---", "nan", "-NaN"])
def test_a_field_in_which_a_receiver_has_no_number_costs_itself(nothing: str) -> None:
    skipped: Counter[str] = Counter()
    body = f"SDDBT,{nothing},f,2.4,M,{nothing},F"
    (found,) = frame_of(b"$", body.encode(), skipped).quantities.values()
    values = {each.name: each.value for each in found}
    assert values["dbt/sentence"] == body
    assert values["dbt/depthm"] == 2.4
    assert "dbt/depthf" not in values
    assert skipped == {"not_measured": 2}


@pytest.mark.parametrize(
    ("body", "quantity"),
    [
        ("GPXYZ,1,2,3", "xyz"),
        ("PQTMVER,1", "pqtmver"),
        ("PUBX,00", "pubx"),
        ("PUBX", "pubx"),
        ("GPGSV,x,y,z", "gsv"),
        ("GPGGA", "gga"),
        ("GP#+/,1", "unknown"),
        ("", "unknown"),
        ("GNTXT,01,01,02,gr\xfc\xdfe!", "txt"),
    ],
)
def test_a_sentence_is_one_payload_whatever_the_library_knows(body: str, quantity: str) -> None:
    frame = frame_of(b"$", body.encode("latin-1"))
    assert list(frame.quantities) == [quantity]
    assert frame.quantities[quantity][0].value == body


@pytest.mark.parametrize("body", ["PUBX,03,99999999999", "GPALC,1,1,1,99999999999,1"])
def test_a_forged_count_of_repeats_does_not_loop_for_hours(body: str) -> None:
    (found,) = frame_of(b"$", body.encode()).quantities.values()
    assert [each.value for each in found] == [body], "nothing but the sentence itself"


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [
        ("9000.0001", "00339.1630"),
        ("4060.0000", "00339.1630"),
        ("9990.0", "00339.1630"),
        ("4023.8600", "18000.0001"),
        ("4023.8600", "00399.1630"),
        ("1e799.0", "00339.1630"),
    ],
)
def test_a_position_that_does_not_exist_is_counted_and_not_measured(
    latitude: str, longitude: str
) -> None:
    skipped: Counter[str] = Counter()
    body = GGA.replace("4023.8600", latitude).replace("00339.1630", longitude)
    (found,) = frame_of(b"$", body.encode(), skipped).quantities.values()
    values = {each.name: each.value for each in found}
    assert not {"gga/lat", "gga/lon"} & values.keys()
    assert (values["gga/sentence"], values["gga/alt"]) == (body, 695.7)
    assert skipped == {"value": 1}


@pytest.mark.parametrize(
    ("latitude", "longitude", "expected"),
    [("9000.0", "18000.0000", (90.0, -180.0)), ("0000.0", "00059.9999", (0.0, -0.9999983333))],
)
def test_positions_at_the_ends_are_measured(
    latitude: str, longitude: str, expected: tuple[float, float]
) -> None:
    skipped: Counter[str] = Counter()
    body = GGA.replace("4023.8600", latitude).replace("00339.1630", longitude)
    (found,) = frame_of(b"$", body.encode(), skipped).quantities.values()
    values = {each.name: each.value for each in found}
    assert (values["gga/lat"], values["gga/lon"]) == expected
    assert not skipped

"""One sentence of NMEA 0183, with the fields that the library knows."""

import pytest
from firmware_bridge.protocols.nmea_sentence import frame_of

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

"""Positions of recorded receivers, compared with those that pynmea2 finds in the same sentences."""

from pathlib import Path

import pynmea2
import pytest
from firmware_bridge.protocols.nmea import NmeaDecoder

CHECKED = {"gga", "rmc", "gll"}


def test_positions_of_the_recordings_are_those_that_pynmea2_finds(captures: Path) -> None:
    compared = 0
    for recording in sorted((captures / "nmea").iterdir()):
        for frame in NmeaDecoder().feed(recording.read_bytes()):
            ((quantity, (sentence, *fields)),) = frame.quantities.items()
            found = {field.name: field.value for field in fields}
            if quantity in CHECKED and f"{quantity}/lat" in found:
                expected = pynmea2.parse(f"${sentence.value!s}")
                place = (expected.latitude, expected.longitude)
                ours = (found[f"{quantity}/lat"], found[f"{quantity}/lon"])
                assert ours == pytest.approx(place, abs=1e-7), sentence
                compared += 1
    assert compared > 100

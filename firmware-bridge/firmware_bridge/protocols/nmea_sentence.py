"""Converts one NMEA sentence to exactly one frame.

The first measurement is the whole sentence as text. The other measurements are the fields of the
sentence, with the names that the library pynmeagps uses. If the library does not know some of the
fields, no data is lost, because the first measurement contains them.
"""

import datetime
import logging
import math
import re
from collections import Counter

from pynmeagps import NMEAReader  # type: ignore[import-untyped]
from pynmeagps.exceptions import (  # type: ignore[import-untyped]
    NMEAMessageError,
    NMEAParseError,
    NMEAStreamError,
    NMEATypeError,
)

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.nmea_fields import MORE_SENTENCES, values_of
from firmware_bridge.protocols.text_values import NOT_MEASURED
from firmware_bridge.readings.measurement import INTEGER_MAX, Measurement, Value
from firmware_bridge.readings.names import is_name

# In these sentences, a field contains the number of repeats. A forged number would make the library
# loop for hours.
_COUNTED = re.compile(r"PUBX|PASHR|PQTM|..ALC")
_COUNT_MAX = 9999
# Fillers in place of a number. With them, the library would not decode any field of the sentence.
_NOTHING = re.compile(r"(?<=,)(?:[+-]?(?:nan|inf|ovf)|-[-.]*-)(?=,|$)", re.ASCII | re.IGNORECASE)
# Latitude and longitude in degrees and minutes (dddmm.mm), each with its hemisphere.
_POSITION = re.compile(r"(?<=,)([^,]+),([NSns]),([^,]+),([EWew])(?=,|$)")
# DTM has offsets in minutes in the place of a position.
_OFFSETS = re.compile(r"..DTM,")
# Before version 2.0 of the standard, VTG had no letters for the units.
_OLD_TRACK = re.compile(r"(..VTG),([0-9.]*),([0-9.]*),([0-9.]*),([0-9.]*)")
_DEGREES_MINUTES = re.compile(r"\s*0*([0-9]{1,3})([0-9]{2}(?:\.[0-9]*)?)\s*", re.ASCII)
_LATITUDE_MAX, _LONGITUDE_MAX, _MINUTES_IN_DEGREE = 90, 180, 60
# pynmeagps raises its own errors for most bad fields and Python's for the rest.
_FIELD_ERRORS = (
    NMEAMessageError,
    NMEAParseError,
    NMEAStreamError,
    NMEATypeError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)

# pynmeagps warns about each unexpected field. We keep the whole sentence anyway.
logging.getLogger("pynmeagps").setLevel(logging.CRITICAL)


def frame_of(start: bytes, body: bytes, skipped: Counter[str] | None = None) -> Frame:
    """Return the frame of a sentence. `body` contains the bytes between `start` and '*'.

    `start` is '$' or '!'. `skipped` counts fields that contain a placeholder, such as `nan` or
    `--.-`, instead of a number. It also counts impossible positions.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    quantity = _quantity_of(text)
    measurements = [Measurement(f"{quantity}/sentence", text)]
    if start == b"$":
        measured, nothing = _NOTHING.subn("", text)
        measured, positions = _without_impossible_positions(_without_old_form(measured))
        if skipped is not None:
            skipped.update({NOT_MEASURED: nothing} if nothing else {})
            skipped.update({"value": positions} if positions else {})
        fields = _fields_of(measured)
        counts = Counter[str]() if skipped is None else skipped
        for name, (value, unit) in values_of(quantity, fields, counts).items():
            measurements.append(Measurement(f"{quantity}/{name}", value, unit))
    return Frame({quantity: measurements})


def _without_old_form(text: str) -> str:
    found = _OLD_TRACK.fullmatch(text)
    return text if found is None else "{},{},T,{},M,{},N,{},K".format(*found.groups())


def _without_impossible_positions(text: str) -> tuple[str, int]:
    """Remove impossible positions from a sentence.

    Return the new text and the number of removed positions. A position is impossible if its
    latitude or longitude is out of range. Both values are removed. If one of them remained, it
    would be combined with a value from an earlier sentence.
    """
    count = 0
    if _OFFSETS.match(text):
        return text, count

    def checked(found: re.Match[str]) -> str:
        nonlocal count
        latitude, north_south, longitude, east_west = found.groups()
        if _is_angle(latitude, _LATITUDE_MAX) and _is_angle(longitude, _LONGITUDE_MAX):
            return found[0].upper()  # The library reads a small "s" as north.
        count += 1
        return f",{north_south},,{east_west}"

    return _POSITION.sub(checked, text), count


def _is_angle(field: str, degrees_max: int) -> bool:
    found = _DEGREES_MINUTES.fullmatch(field)
    if found is None:
        return False
    degrees, minutes = int(found[1]), float(found[2])
    return minutes < _MINUTES_IN_DEGREE and degrees + minutes / _MINUTES_IN_DEGREE <= degrees_max


def _quantity_of(text: str) -> str:
    """Return the name of a sentence's quantity, such as `gga` for `GPGGA`.

    The name is the type of the sentence in lower case. For a proprietary sentence, it is the whole
    address in lower case. If this is not a valid name, "unknown" is returned.
    """
    address = text.partition(",")[0]
    standard = len(address) == 5 and not address.startswith("P")
    quantity = (address[2:] if standard else address).lower()
    return quantity if is_name(quantity) else "unknown"


def _fields_of(text: str) -> dict[str, Value]:
    if _COUNTED.match(text) and _has_forged_count(text):
        return {}
    try:
        # The decoder has checked the checksum.
        message = NMEAReader.parse(f"${text}*00\r\n", validate=0, userdefined=MORE_SENTENCES)
    except _FIELD_ERRORS:
        return {}
    if message is None:
        return {}
    fields: dict[str, Value] = {}
    for name, found in vars(message).items():
        if not name.startswith(("_", "field_")) and (value := _value_of(found)) is not None:
            fields[name] = value
    return fields


def _value_of(found: object) -> Value | None:
    """Convert a field that pynmeagps has decoded.

    The result is None if the field is empty or out of range.
    """
    if found == "" or found is None:
        return None
    if isinstance(found, bool | str):
        return found
    if isinstance(found, int):
        return found if abs(found) <= INTEGER_MAX else None
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    if isinstance(found, datetime.time | datetime.date):
        return found.isoformat()
    return str(found)


def _has_forged_count(text: str) -> bool:
    for field in text.split(","):
        try:
            if int(field) > _COUNT_MAX:
                return True
        except ValueError:
            continue
    return False

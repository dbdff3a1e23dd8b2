"""Fields of an NMEA sentence as the library pynmea2 reads them, under the bridge's names and with
the standard's units.

pynmea2 shares no code with the library that the bridge uses.
"""

import datetime
from decimal import Decimal
from typing import Any

import pynmea2

_POSITION = {"lat_dir": "NS", "lon_dir": "EW"}
_SATELLITES = {
    f"{theirs}_{number}": f"{ours}_{number:02d}"
    for number in range(1, 5)
    for theirs, ours in {
        "sv_prn_num": "svid", "elevation_deg": "elv", "azimuth": "az", "snr": "cno",
    }.items()
}  # fmt: skip
NAMES = {
    "rmc": {
        **_POSITION, "timestamp": "time", "status": "status", "spd_over_grnd": "spd",
        "true_course": "cog", "datestamp": "date", "mag_variation": "mv", "mag_var_dir": "mvEW",
        "mode_indicator": "posMode", "nav_status": "navStatus",
    },
    "gga": {
        **_POSITION, "timestamp": "time", "gps_qual": "quality", "num_sats": "numSV",
        "horizontal_dil": "HDOP", "altitude": "alt", "altitude_units": "altUnit",
        "geo_sep": "sep", "geo_sep_units": "sepUnit", "age_gps_data": "diffAge",
        "ref_station_id": "diffStation",
    },
    "gll": {**_POSITION, "timestamp": "time", "status": "status", "faa_mode": "posMode"},
    "gsa": {
        "mode": "opMode", "mode_fix_type": "navMode", "pdop": "PDOP", "hdop": "HDOP",
        "vdop": "VDOP", **{f"sv_id{number:02d}": f"svid_{number:02d}" for number in range(1, 13)},
    },
    "gsv": {
        "num_messages": "numMsg", "msg_num": "msgNum", "num_sv_in_view": "numSV", **_SATELLITES,
    },
    "vtg": {
        "true_track": "cogt", "true_track_sym": "cogtUnit", "mag_track": "cogm",
        "mag_track_sym": "cogmUnit", "spd_over_grnd_kts": "sogn",
        "spd_over_grnd_kts_sym": "sognUnit", "spd_over_grnd_kmph": "sogk",
        "spd_over_grnd_kmph_sym": "sogkUnit", "faa_mode": "posMode",
    },
    "zda": {
        "timestamp": "time", "day": "day", "month": "month", "year": "year",
        "local_zone": "ltzh", "local_zone_minutes": "ltzn",
    },
    "gst": {
        "timestamp": "time", "rms": "rangeRms", "std_dev_major": "stdMajor",
        "std_dev_minor": "stdMinor", "orientation": "orient", "std_dev_latitude": "stdLat",
        "std_dev_longitude": "stdLong", "std_dev_altitude": "stdAlt",
    },
    "gbs": {
        "timestamp": "time", "lat_err": "errLat", "lon_err": "errLon", "alt_err": "errAlt",
        "sat_prn_num_f": "svid", "pro_miss": "prob", "est_bias": "bias", "est_bias_dev": "stddev",
    },
    "txt": {"num_msg": "numMsg", "msg_num": "msgNum", "msg_type": "msgType", "text": "text"},
    "rmb": {"status": "status", "arrival_alarm": "arrstatus"},
    "bod": {"bearing_t_type": "bearTu", "bearing_mag_type": "bearMu"},
    "rte": {"num_in_seq": "numMsg", "sen_num": "msgNum", "start_type": "status"},
    "pgrme": {
        "hpe": "HPE", "hpe_unit": "HPEUnit", "vpe": "VPE", "vpe_unit": "VPEUnit", "osepe": "EPE",
        "osepe_unit": "EPEUnit",
    },
    "pgrmz": {"altitude": "alt", "altitude_unit": "altUnit", "pos_fix_dim": "fix"},
}  # fmt: skip
"""The bridge's name for each of pynmea2's names, by the sentence's formatter."""
ONLY_OURS = {
    "gsa": {"systemId"}, "gsv": {"signalID"}, "rmb": {"valstatus"}, "gbs": {"systemId", "signalId"},
}  # fmt: skip
"""Fields of later versions of the standard, which pynmea2 does not read."""
UNITS = {
    "lat": "lat", "lon": "lon", "cog": "deg", "mv": "deg", "cogt": "deg", "cogm": "deg",
    "sogk": "km/h", "numSV": "count", "HDOP": "/", "PDOP": "/", "VDOP": "/", "sep": "m",
    "diffAge": "s", "rangeRms": "m", "stdMajor": "m", "stdMinor": "m", "orient": "deg",
    "stdLat": "m", "stdLong": "m", "stdAlt": "m", "HPE": "m", "VPE": "m", "EPE": "m",
    **{f"elv_{number:02d}": "deg" for number in range(1, 5)},
    **{f"az_{number:02d}": "deg" for number in range(1, 5)},
}  # fmt: skip

Fields = dict[str, tuple[object, str | None]]
"""Value and unit by field name. A number is a Decimal."""


def fields_of(formatter: str, sentence: str) -> Fields:
    """Return the fields of a sentence with a valid checksum, without the empty ones."""
    parsed = pynmea2.parse(f"${sentence}")
    names = NAMES[formatter]
    found: Fields = {}
    for _, attribute, *_ in parsed.fields:
        value = getattr(parsed, attribute, None)
        if value in (None, "") or attribute in ("lat", "lon", "subtype"):
            continue
        name = names[attribute]
        found[name] = (_plain(value), UNITS.get(name))
    for name, attribute in (("lat", "latitude"), ("lon", "longitude")):
        if getattr(parsed, name, ""):
            found[name] = (Decimal(str(getattr(parsed, attribute))), UNITS[name])
    if "alt" in found and found.get("altUnit") == ("M", None):
        found["alt"] = (found["alt"][0], "m")
    if formatter == "gsv" and len(sentence.split(",")) % 4 == 1:
        # NMEA 4.10 adds a signal number at the end, which pynmea2 reads as another satellite.
        satellites = (len(sentence.split(",")) - 5) // 4
        found.pop(f"svid_{satellites + 1:02d}", None)
    return found


def same(ours: Fields, theirs: Fields) -> bool:
    """Return True if names, values and units are equal.

    Positions may differ by a tenth of a millimetre.
    """
    return ours.keys() == theirs.keys() and all(
        unit == theirs[name][1] and _same_value(value, theirs[name][0])
        for name, (value, unit) in ours.items()
    )


def _same_value(ours: object, theirs: object) -> bool:
    if isinstance(ours, int | float) and not isinstance(ours, bool):
        ours = Decimal(str(ours))
    if isinstance(ours, Decimal) and isinstance(theirs, str):
        theirs = Decimal(theirs)
    if isinstance(ours, str) and isinstance(theirs, Decimal):
        ours = Decimal(ours)
    if isinstance(ours, Decimal) and isinstance(theirs, Decimal):
        return abs(ours - theirs) <= Decimal("1e-9")
    return ours == theirs


def _plain(value: Any) -> object:
    if isinstance(value, datetime.time):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return Decimal(str(value)) if isinstance(value, int | float) else value

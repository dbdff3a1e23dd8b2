"""Meter times: `YYMMDDhhmmss` or `YY-MM-DD hh:mm`, with S for summer time and W for winter time.

Instead of a letter, VDEW meters put a digit before the date: 0 for winter time, 1 for summer time,
2 for UTC. Meters older than DSMR 4 send neither a letter nor a digit. Summer time is then
determined by the rules of the European Union: it lasts from the last Sunday in March to the last
Sunday in October, at 01:00 UTC. A time that occurs twice in October is read as winter time. Years
from 70 on belong to the 20th century, because a clock that was never set shows 1970.
"""

import datetime
import re

from firmware_bridge.protocols.frame import Damaged

_TIME = re.compile(
    r"[0-9]{12}[SW]?|[0-2]?[0-9]{10}|[0-2][0-9]{12}"
    r"|[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(:[0-9]{2})?"
)
_BETWEEN_DIGITS = str.maketrans("", "", "-: ")
_SECONDS_FORMAT, _MINUTES_FORMAT = "%Y%m%d%H%M%S", "%Y%m%d%H%M"
_YEAR_MIN = 70
_SEASONS = {"0": "W", "1": "S", "2": "Z"}
"""Letters for the digit before a time of 10 or 12 digits. Z means UTC."""


def is_time(text: str) -> bool:
    """Return True if a string has the form of a time, even if its date does not exist."""
    return _TIME.fullmatch(text) is not None


def seconds_of(text: str, utc_offset_hours: int) -> float:
    """Convert a meter time to seconds since 1970.

    `utc_offset_hours` is the offset of the meter's winter time from UTC.

    Raises:
        Damaged: with reason "time" if the text is not a time, or the time does not exist.
    """
    if not is_time(text):
        raise Damaged("time")
    text = text.translate(_BETWEEN_DIGITS)
    if text.isdecimal() and len(text) % 2:
        text = text[1:] + _SEASONS[text[0]]
    if text.endswith("Z"):
        text, utc_offset_hours = text.replace("Z", "W"), 0
    digits = text.rstrip("SW")
    form = _SECONDS_FORMAT if len(digits) > 10 else _MINUTES_FORMAT
    try:
        century = "19" if int(digits[:2]) >= _YEAR_MIN else "20"
        local = datetime.datetime.strptime(century + digits, form)  # noqa: DTZ007 - in the next line
        winter = local.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=utc_offset_hours)))
        seconds = winter.timestamp()
    except (ValueError, OverflowError):
        raise Damaged("time") from None
    is_summer = text.endswith("S") or (digits == text and _is_summer(seconds - 3600))
    return seconds - 3600 if is_summer else seconds


def _is_summer(seconds: float) -> bool:
    """Return True if summer time applies at the time `seconds`, in seconds since 1970.

    In October, the last hour of summer time counts as winter time, because its local times occur
    twice.
    """
    instant = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return _change(instant.year, 3) <= instant < _change(instant.year, 10) - _AMBIGUOUS


_AMBIGUOUS = datetime.timedelta(hours=1)


def _change(year: int, month: int) -> datetime.datetime:
    """Return the time at which the clocks change: 01:00 UTC on the last Sunday of a month.

    `month` must be 3 (March) or 10 (October), because the calculation assumes a month of 31 days.
    """
    last = datetime.datetime(year, month, 31, 1, tzinfo=datetime.UTC)
    return last - datetime.timedelta(days=(last.weekday() + 1) % 7)

"""The country codes in the wireless regulatory database (ISO 3166-1, two letters)."""

from typing import Final

_CODES: Final = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO "
    "BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ "
    "DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP "
    "GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG "
    "KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML "
    "MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE "
    "PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL "
    "SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM "
    "US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
COUNTRIES: Final = frozenset(_CODES.split())
MEANT: Final = {"UK": "GB", "EN": "GB", "EL": "GR", "SW": "SE", "JA": "JP", "SP": "ES", "DA": "DK"}
"""Common mistakes, such as a top-level domain or a language code, and the right country codes."""


def country_meant_by(written: str) -> str | None:
    """Return the country code that a user has entered, or None if the input is not a country.

    The case of letters does not matter, and common mistakes are corrected, such as UK for GB.
    """
    code = written.strip().upper()
    if code in COUNTRIES:
        return code
    return MEANT.get(code)

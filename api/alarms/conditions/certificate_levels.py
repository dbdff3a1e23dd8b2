"""Alarm levels for certificates that expire soon: information, then warning, then critical.

An alarm is raised 30 days before a certificate expires. This module does no I/O.
"""

from typing import Final

from api.alarms.conditions.condition import Level

WARNING_DAYS: Final = 7
"""With fewer days left, the level is warning.

The monthly renewal has failed by then, and a week includes a working day to repair it.
"""
CRITICAL_DAYS: Final = 1
"""With fewer days left, the level is critical: clients will be rejected from tomorrow."""


def level_of_certificate(days_left: int, *, is_unused: bool) -> Level:
    """Return the level of an alarm about a certificate.

    `days_left` is the number of whole days until the certificate expires, or a negative number if
    it has expired. The keyword argument `is_unused` is True if newer certificate files exist but
    cannot be used. In this case, the level is at least a warning.
    """
    if days_left < CRITICAL_DAYS:
        return Level.BAD
    if days_left < WARNING_DAYS or is_unused:
        return Level.ATTENTION
    return Level.INFORMATION

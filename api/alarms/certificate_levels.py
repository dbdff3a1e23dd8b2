"""Levels of certificates: information from 30 days before the end, then warning, then critical.

Pure.
"""

from typing import Final

from api.alarms.condition import Level

WARNING_DAYS: Final = 7
"""With fewer days left it is a warning: the monthly renewal has failed, and a week has a working
day on which a person can repair it."""
CRITICAL_DAYS: Final = 1
"""With fewer days left it is critical: clients are refused tomorrow."""


def level_of_certificate(days_left: int, *, is_unused: bool) -> Level:
    """Return the level of a certificate that has a problem.

    Args:
        days_left: whole days until it expires; negative afterwards.
        is_unused: newer files exist and cannot be used, which is a warning at any time.
    """
    if days_left < CRITICAL_DAYS:
        return Level.BAD
    if days_left < WARNING_DAYS or is_unused:
        return Level.ATTENTION
    return Level.INFORMATION

"""Thresholds of alarms: the keys of `[alarms]`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """See docs/configuration.md for each key."""

    disk_free_share: float = 0.1
    """Free share of the disk below which it is low."""
    clock_seconds: float = 600.0
    """Seconds without a synchronised clock before that is an alarm."""
    upload_backlog_bytes: int = 64 * 1024 * 1024
    """Bytes of segments waiting to be uploaded."""
    temperature_celsius: float = 80.0
    """Temperature of the processor; a Raspberry Pi slows down at 80 to 85 °C."""
    card_life_years: float = 2.0
    """Expected life of the SD card."""
    wrong_passwords: int = 20
    """Wrong passwords within the last hour."""

"""Thresholds of alarms: the keys in the `[alarms]` section of the configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Limits for measured values. If a value is beyond its limit, an alarm is raised.

    docs/configuration.md describes each key.
    """

    disk_free_share: float = 0.1
    """Free fraction of the disk below which an alarm is raised."""
    clock_seconds: float = 600.0
    """Seconds without a synchronised clock before an alarm is raised."""
    upload_backlog_bytes: int = 64 * 1024 * 1024
    """Bytes of segments waiting to be uploaded above which an alarm is raised."""
    temperature_celsius: float = 80.0
    """Temperature of the processor at which an alarm is raised.

    A Raspberry Pi slows down at 80 to 85 °C.
    """
    card_life_years: float = 2.0
    """Expected life of the SD card below which an alarm is raised."""
    wrong_passwords: int = 20
    """Number of wrong passwords within the last hour at which an alarm is raised."""

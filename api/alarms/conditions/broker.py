"""Alarm conditions of the broker, its disk and its clock.

This module does no I/O.
"""

from collections.abc import Iterator
from typing import Final

from api.alarms.conditions.certificate_levels import level_of_certificate
from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.thresholds import Thresholds
from api.models.broker import BrokerStatus, BrokerWarning, Disk
from api.wording import bytes_of, duration_of, share_of, visible_of

_DISK_FULL: Final = "disk_full"
_LEVELS: Final = {"restart_needed": Level.INFORMATION}
"""Levels of the broker's own warnings, where they differ from `warning`."""


def conditions_of_broker(broker: BrokerStatus, thresholds: Thresholds) -> Iterator[Condition]:
    """Yield the alarm conditions that are true now for the broker, its disk and its clock."""
    if broker.state != "running":
        yield Condition(
            "broker_state", "broker", Level.ATTENTION,
            f"The broker is {visible_of(broker.state)}.",
        )  # fmt: skip
    if broker.disk is not None:
        yield from _disk_conditions(broker, broker.disk, thresholds)
    if broker.clock == "unsynchronised":
        yield Condition(
            "clock_unsynchronised", "clock", Level.ATTENTION,
            "The gateway's clock is not synchronised: times shown here and stored with readings "
            "may be wrong. Readings are marked as such.",
            "Connect the gateway to a time server (NTP).",
        )  # fmt: skip
    for warning in broker.warnings:
        # `_disk_conditions` describes a full disk with figures, so the broker's warning is left
        # out.
        if not (warning.id == _DISK_FULL and broker.disk is not None and _is_full(broker.disk)):
            level = _level_of(warning, broker)
            yield Condition(warning.id, warning.subject, level, warning.sentence, warning.fix)
    if broker.store.recovery == "salvaged" and not any(
        each.id == "store_damaged" for each in broker.warnings
    ):
        yield Condition(
            "store_damaged", "store", Level.ATTENTION,
            "The data on disk were damaged at the last start: "
            f"{broker.store.detail or 'see the log'}.",
            "See what is missing: oncegate audit.",
        )  # fmt: skip


def _level_of(warning: BrokerWarning, broker: BrokerStatus) -> Level:
    if warning.id == "certificate":
        levels = [
            level_of_certificate(certificate.days_left, is_unused=certificate.unused)
            for listener in broker.listeners
            if (certificate := listener.certificate) is not None
            and certificate.problem is not None
            and certificate.subject.startswith(warning.subject)
        ]
        return max(levels, default=Level.ATTENTION)
    return _LEVELS.get(warning.id, Level.ATTENTION)


def _is_full(disk: Disk) -> bool:
    return disk.full or disk.waits


def _disk_conditions(
    broker: BrokerStatus, disk: Disk, thresholds: Thresholds
) -> Iterator[Condition]:
    if _is_full(disk):
        since = (
            f" for {duration_of(max(broker.time_ms - disk.full_since_ms, 0) / 1000)}"
            if disk.full_since_ms is not None
            else ""
        )
        meanwhile = (
            "The last messages received cannot be written yet, and are not acknowledged."
            if disk.waits
            else "Stored messages are still delivered and uploaded."
        )
        yield Condition(
            _DISK_FULL, "disk", Level.BAD,
            f"Nothing new has been accepted{since}: {bytes_of(disk.free_bytes)} of "
            f"{bytes_of(disk.total_bytes)} are free, and {bytes_of(disk.free_min)} are kept free. "
            f"{meanwhile}",
            "Free space, or use a larger disk: the gateway then continues by itself.",
        )  # fmt: skip
    elif disk.total_bytes and disk.free_bytes < disk.total_bytes * thresholds.disk_free_share:
        yield Condition(
            "disk_low", "disk", Level.ATTENTION,
            f"{bytes_of(disk.free_bytes)} of {bytes_of(disk.total_bytes)} "
            f"({share_of(disk.free_bytes / disk.total_bytes)}) are free.",
            f"Free space: with less than {bytes_of(disk.free_min)} nothing new is accepted. "
            "[alarms] disk_free sets when this is shown.",
        )  # fmt: skip

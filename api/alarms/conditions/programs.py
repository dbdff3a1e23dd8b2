"""Alarm conditions of the bridge, the uploader and the uplink.

The conditions are derived from the reports that these processes send. This module does no I/O.
"""

from collections.abc import Iterator
from typing import Final

from api import limits
from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.ports import conditions_of_port
from api.alarms.conditions.thresholds import Thresholds
from api.models.bridge import BridgeStatus
from api.models.reports import Report, SerialReport, UplinkReport, UploadReport
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.wording import bytes_of, counted_of, duration_of, sentence_of, visible_of

_WITHOUT: Final = {
    "bridge": "so no serial port is read",
    "uploader": "so the session log is not uploaded",
    "uplink": "so no message is sent upstream",
}
_COMMANDS: Final = {"bridge": "bridge", "uploader": "upload", "uplink": "uplink"}


def conditions_of_serial(report: SerialReport, *, now_ms: int) -> Iterator[Condition]:
    """Yield the alarm conditions of the bridge and its serial ports that are true now."""
    yield from _report_conditions(report, "bridge")
    if report.status is not None and not is_stale(report):
        yield from _bridge_conditions(report.status)
        for port in report.status.ports:
            yield from conditions_of_port(port, now_ms=now_ms)


def conditions_of_upload(
    report: UploadReport, thresholds: Thresholds, *, now_ms: int
) -> Iterator[Condition]:
    """Yield the alarm conditions of the uploader that are true now."""
    yield from _report_conditions(report, "uploader")
    if report.status is not None and not is_stale(report):
        yield from _uploader_conditions(report.status, thresholds, now_ms)


def conditions_of_uplink(report: UplinkReport) -> Iterator[Condition]:
    """Yield the alarm conditions of the uplink that are true now.

    Without an uplink there are no conditions.
    """
    if report.problem is None and report.age_seconds is None:
        return
    yield from _report_conditions(report, "uplink")
    if report.status is not None and not is_stale(report):
        yield from _uplink_conditions(report.status)


def is_stale(report: Report) -> bool:
    """Return True if a process's report is older than ``REPORT_AGE_SECONDS_MAX``."""
    return report.age_seconds is not None and report.age_seconds > limits.REPORT_AGE_SECONDS_MAX


def _report_conditions(report: Report, who: str) -> Iterator[Condition]:
    command = _COMMANDS[who]
    if report.problem is not None:
        yield Condition(
            "report_unreadable", who, Level.ATTENTION, report.problem,
            "Restart the gateway: its processes are probably of different versions.",
        )  # fmt: skip
    elif report.age_seconds is None:
        yield Condition(
            "program_absent", who, Level.INFORMATION,
            f"The {who} has not reported since the broker started, {_WITHOUT[who]} "
            f"(`oncegate {command}` starts it).",
        )  # fmt: skip
    elif is_stale(report):
        yield Condition(
            "program_silent", who, Level.ATTENTION,
            f"The {who} has been silent for {duration_of(report.age_seconds)}; the values "
            "shown for it are just as old.",
            f"Look at its log, or start `oncegate {command}`.",
        )  # fmt: skip


def _bridge_conditions(status: BridgeStatus) -> Iterator[Condition]:
    if not status.mqtt.connected:
        fault = status.mqtt.fault
        reason = f": {sentence_of(fault).rstrip('.')}" if fault else ""
        yield Condition(
            "bridge_disconnected", "bridge", Level.ATTENTION,
            f"The bridge is not connected to the broker at {visible_of(status.mqtt.address)}"
            f"{reason}; "
            f"{counted_of(status.outbox.waiting, 'reading')} waiting in its outbox.",
        )  # fmt: skip


def _uploader_conditions(
    status: UploaderStatus, thresholds: Thresholds, now_ms: int
) -> Iterator[Condition]:
    if status.failing_since_ms is not None or status.error is not None:
        since = (
            f" for {duration_of(max(now_ms - status.failing_since_ms, 0) / 1000)}"
            if status.failing_since_ms is not None
            else ""
        )
        reason = (status.error or "no reason was given").rstrip(".")
        yield Condition(
            "upload_failing", "uploader", Level.ATTENTION,
            f"Uploading has failed{since}: {reason}. Nothing is lost: the upload "
            f"is tried again ({counted_of(status.sealed.count, 'segment')} waiting).",
        )  # fmt: skip
    elif status.sealed.bytes > thresholds.upload_backlog_bytes:
        yield Condition(
            "upload_backlog", "uploader", Level.ATTENTION,
            f"{counted_of(status.sealed.count, 'segment')} ({bytes_of(status.sealed.bytes)}) "
            "waiting to be uploaded.",
            "The connection may be too slow for what the gateway records: see [session_log] "
            "payload_topics; [alarms] upload_backlog sets when this is shown.",
        )  # fmt: skip


def _uplink_conditions(status: UplinkStatus) -> Iterator[Condition]:
    for name, side, way in (
        ("the upstream broker", status.remote, status.out),
        ("this gateway's broker", status.local, status.into),
    ):
        if not side.connected:
            reason = f": {visible_of(side.fault)}" if side.fault else ""
            yield Condition(
                "uplink_disconnected", name, Level.ATTENTION,
                f"The uplink is not connected to {name} at {visible_of(side.address)}{reason}; "
                f"{counted_of(way.waiting, 'message')} waiting for it.",
            )  # fmt: skip
        if way.refused or way.too_large:
            yield Condition(
                "uplink_refused", name, Level.ATTENTION,
                f"Messages were dropped because {name} does not accept them: "
                f"{way.refused} refused, {way.too_large} too large.",
                "The uplink's log has their topics.",
            )  # fmt: skip

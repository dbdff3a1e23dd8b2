"""Reports of other processes as the broker keeps them, and as the page and REST show them."""

from api.models.bridge import BridgeStatus
from api.models.uploader import UploaderStatus
from api.models.values import Milliseconds, Seconds, Told


class KeptReport(Told):
    """A report as the broker keeps it: it has not looked into ``status``."""

    time_ms: Milliseconds
    age_seconds: Seconds
    status: dict[str, object]


class Reports(Told):
    bridge: KeptReport | None = None
    uploader: KeptReport | None = None


class Report(Told):
    """The latest word of another process, as the broker keeps it."""

    time_ms: Milliseconds | None
    """When it was told, by the broker's clock; null if it never was since the broker started."""
    age_seconds: Seconds | None
    problem: str | None
    """Why `status` is null although the process did report."""


class SerialReport(Report):
    status: BridgeStatus | None


class UploadReport(Report):
    status: UploaderStatus | None

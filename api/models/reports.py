"""Reports from other processes: as the broker stores them, and as the status page shows them."""

from api.models.bridge import BridgeStatus
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.models.values import Milliseconds, Reported, Seconds


class KeptReport(Reported):
    """A report as the broker stores it. The broker does not validate ``status``."""

    time_ms: Milliseconds
    age_seconds: Seconds
    status: dict[str, object]


class Reports(Reported):
    bridge: KeptReport | None = None
    uploader: KeptReport | None = None
    uplink: KeptReport | None = None


class Report(Reported):
    """The latest report of another process, as the page shows it."""

    time_ms: Milliseconds | None
    """Time of receipt by the broker's clock; null if none was received since the broker started."""
    age_seconds: Seconds | None
    problem: str | None
    """Reason why `status` is null although the process has reported."""


class SerialReport(Report):
    status: BridgeStatus | None


class UplinkReport(Report):
    status: UplinkStatus | None


class UploadReport(Report):
    status: UploaderStatus | None

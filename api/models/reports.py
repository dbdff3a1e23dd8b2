"""Reports of other processes, as stored by the broker and shown by the page and the REST
interface.
"""

from api.models.bridge import BridgeStatus
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.models.values import Milliseconds, Reported, Seconds


class KeptReport(Reported):
    """A report as stored by the broker. ``status`` is not validated."""

    time_ms: Milliseconds
    age_seconds: Seconds
    status: dict[str, object]


class Reports(Reported):
    bridge: KeptReport | None = None
    uploader: KeptReport | None = None
    uplink: KeptReport | None = None


class Report(Reported):
    """The latest report of another process."""

    time_ms: Milliseconds | None
    """When it was received, by the broker's clock; null: none since the broker started."""
    age_seconds: Seconds | None
    problem: str | None
    """Why `status` is null although the process did report."""


class SerialReport(Report):
    status: BridgeStatus | None


class UplinkReport(Report):
    status: UplinkStatus | None


class UploadReport(Report):
    status: UploaderStatus | None

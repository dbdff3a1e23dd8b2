"""The observer's overviews, built from the recorded responses of a broker."""

from typing import Any

from api.models.broker import BrokerStatus
from api.models.reports import SerialReport, UplinkReport, UploadReport
from api.status.observer import Overview
from tests.api import recorded

NONE: dict[str, Any] = {"time_ms": None, "age_seconds": None, "problem": None, "status": None}


def overview_of(
    status: dict[str, Any] | None = None,
    bridge: dict[str, Any] | None = None,
    *,
    answered_at: float = 0.0,
) -> Overview:
    serial = {**NONE, "time_ms": recorded.NOW_MS, "age_seconds": 0.5}
    return Overview(
        broker=BrokerStatus.model_validate(status or recorded.status()),
        serial=SerialReport.model_validate({**serial, "status": bridge}),
        upload=UploadReport.model_validate({**NONE, "status": recorded.uploader_status()}),
        uplink=UplinkReport.model_validate(NONE),
        answered_at=answered_at,
    )

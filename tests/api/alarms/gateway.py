"""Recorded responses of a gateway, which a test changes before conditions are derived from them."""

import time
from typing import Any

from api.alarms.conditions.condition import Condition, Level
from api.alarms.conditions.gateway import conditions_of
from api.alarms.conditions.thresholds import Thresholds
from api.models.bridge import BridgeStatus
from api.models.broker import BrokerStatus
from api.models.reports import SerialReport, UplinkReport, UploadReport
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.status.observer import Overview
from tests.api import recorded


def warning(sentence: str, id: str = "queue_filling", fix: str = "") -> dict[str, str]:
    """Return a warning as the broker reports it."""
    return {"id": id, "subject": "client c", "sentence": sentence, "fix": fix}


class Gateway:
    """The recorded responses of a gateway, which a test may change."""

    def __init__(self) -> None:
        self.broker = recorded.status()
        self.bridge: dict[str, Any] | None = recorded.bridge_status()
        self.bridge_age_seconds: float | None = 0.6
        self.uploader: dict[str, Any] | None = recorded.uploader_status()
        self.uplink: dict[str, Any] | None = None

    def conditions(self, **changes: Any) -> tuple[Condition, ...]:
        """Return the present conditions. `changes` are changed thresholds."""
        return conditions_of(self.overview(), None, None, Thresholds(**changes))

    def sentences(self) -> list[tuple[Level, str]]:
        return [
            (condition.level, condition.text.replace("\N{NO-BREAK SPACE}", " "))
            for condition in self.conditions()
        ]

    def overview(self) -> Overview:
        return Overview(
            broker=BrokerStatus.model_validate(self.broker),
            serial=SerialReport(
                time_ms=recorded.NOW_MS,
                age_seconds=self.bridge_age_seconds,
                problem=None,
                status=self.bridge and BridgeStatus.model_validate(self.bridge),  # type: ignore[arg-type]
            ),
            upload=UploadReport(
                time_ms=recorded.NOW_MS,
                age_seconds=0.9 if self.uploader else None,
                problem=None,
                status=self.uploader and UploaderStatus.model_validate(self.uploader),  # type: ignore[arg-type]
            ),
            uplink=UplinkReport(
                time_ms=recorded.NOW_MS,
                age_seconds=0.9 if self.uplink else None,
                problem=None,
                status=self.uplink and UplinkStatus.model_validate(self.uplink),  # type: ignore[arg-type]
            ),
            answered_at=time.monotonic(),
        )

"""The task that records the history: it queries the state of the gateway every 5 seconds."""

import asyncio
import logging
import time
from typing import Final

from api.history.gateway_series import GatewaySeries
from api.history.history import History
from api.history.readings import Readings
from api.history.rings import HOUR
from api.status.control_socket import BrokerProblem
from api.status.machine import read_machine
from api.status.observer import Observer
from gateway.process.control.messages import Refused

logger = logging.getLogger(__name__)

_LATE_SECONDS: Final = 1.5
"""Seconds to wait after the end of a step, because the bridge reports only once a second."""


async def until_reported() -> None:
    """Wait until 1.5 seconds after the end of a 5-second step of the wall clock.

    The bridge reports the readings of a step within these 1.5 seconds. All waiting tasks continue
    at the same moment, so that they can share one query to the broker.
    """
    into = (time.time() - _LATE_SECONDS) % HOUR.step_seconds
    await asyncio.sleep(HOUR.step_seconds - into)


class Recorder:
    """Task that records the gateway's state in a history until it is cancelled."""

    def __init__(self, observer: Observer, history: History) -> None:
        self._observer: Final = observer
        self._history: Final = history
        self._readings: Final = Readings()
        self._gateway: Final = GatewaySeries()

    async def run(self) -> None:
        """Load the history, then record every 5 seconds until cancelled."""
        await self._history.open()
        while True:
            await self.record()
            await until_reported()

    async def record(self) -> None:
        """Query the gateway's state once, and record the result.

        If the broker does not respond, nothing is recorded, and the charts have a gap.
        """
        try:
            overview = await self._observer.overview()
        except (BrokerProblem, Refused) as problem:
            logger.debug("nothing to record: %s", problem)
            return
        readings = self._readings.new_in(overview)
        readings += self._gateway.readings_of(overview, read_machine())
        self._history.add(overview.broker.time_ms, readings)
        await self._history.save()

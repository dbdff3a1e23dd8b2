"""Reports the uploader's status and the exported events to the broker, once a second.

The export and the upload continue even while the broker is not running.

The command `exported` allows the broker to remove events from its journal. It is sent only if the
newest sealed segment is from the current run of the broker. Otherwise the segment's events might be
from an old journal that has been replaced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from gateway.process.control.client import ControlClient
from gateway.process.control.messages import Refused, UnusableAnswer
from gateway.process.files.disk_errors import line_of
from gateway.uploader.faults import Fault
from gateway.uploader.segments.chain import Head
from gateway.uploader.settings import ANSWER_SECONDS_MAX, REPORT_SECONDS
from gateway.uploader.waiting import either_within, happened_within

logger = logging.getLogger(__name__)

Record = dict[str, object]


class ControlLink:
    """The connection to the broker, over which the uploader sends reports."""

    def __init__(
        self, socket: Path, *, status: Callable[[], Record], on_broker: Callable[[], None]
    ) -> None:
        self._socket = socket
        self._status = status
        self._on_broker = on_broker
        self._head: Head | None = None
        self._reported: Head | None = None
        self._boot: str | None = None
        self._changed = asyncio.Event()
        self._refusal = Fault("reporting to the broker")

    def sealed(self, head: Head) -> None:
        """Record the newest sealed segment. The next report to the broker includes it."""
        self._head = head
        self._changed.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Send reports until `stop` is set, and then a final report.

        If the connection fails, it is opened again.
        """
        while not stop.is_set():
            try:
                await self._serve_connection(stop)
            except (OSError, EOFError, UnusableAnswer, Refused) as problem:
                # An absent broker is not a fault of this process; systemd reports it.
                if isinstance(problem, UnusableAnswer | Refused):
                    self._refusal.begin(f"the broker's answer: {line_of(problem)}", "refusal")
                await happened_within(stop, REPORT_SECONDS)

    async def _serve_connection(self, stop: asyncio.Event) -> None:
        client = ControlClient(self._socket, ANSWER_SECONDS_MAX)
        try:
            boot = (await client.request({"command": "status"})).get("boot")
            self._boot = boot if isinstance(boot, str) else None
            self._reported = None
            self._on_broker()
            while True:
                is_last = stop.is_set()
                await self._report(client)
                if is_last:
                    return
                await either_within(self._changed, stop, REPORT_SECONDS)
        finally:
            client.close()

    async def _report(self, client: ControlClient) -> None:
        self._changed.clear()
        head = self._head
        if head is not None and head != self._reported and head.boot == self._boot:
            await client.request(
                {
                    "command": "exported",
                    "sequence": head.last_sequence,
                    "segment": head.segment,
                    "sha256": head.sha256,
                }
            )
            self._reported = head
        await client.request({"command": "report", "source": "uploader", "status": self._status()})
        self._refusal.end()

"""The uploader's line to the broker: its status once a second, and what the journal may drop.

The broker may be absent, restarting or another one: this end keeps trying and holds nobody up.

`exported` lets the broker drop events for ever, so it is said only after events of the broker's
present boot have been sealed. A boot's id is random: having it proves that the segments were
written from this broker's own database and not from one that it has replaced since.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from gateway.control.client import ControlClient
from gateway.control.messages import Refused, UnusableAnswer
from gateway.history.chain import Head
from gateway.history.settings import ANSWER_SECONDS_MAX, REPORT_SECONDS
from gateway.history.trouble import Trouble
from gateway.history.waiting import either_within, happened_within

_log = logging.getLogger(__name__)

Record = dict[str, object]


class ControlLink:
    def __init__(
        self, socket: Path, *, status: Callable[[], Record], on_broker: Callable[[], None]
    ) -> None:
        self._socket = socket
        self._status = status
        self._on_broker = on_broker
        self._head: Head | None = None
        self._told: Head | None = None
        self._boot: str | None = None
        self._news = asyncio.Event()
        self._refusal = Trouble("reporting to the broker")

    def sealed(self, head: Head) -> None:
        """This is the newest sealed segment."""
        self._head = head
        self._news.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Connect, talk, connect again, until ``stop``; then say the last news."""
        while not stop.is_set():
            try:
                await self._talk(stop)
            except (OSError, EOFError, UnusableAnswer, Refused) as problem:
                # An absent broker is no trouble of this process: its own unit says so.
                if isinstance(problem, UnusableAnswer | Refused):
                    self._refusal.begin(f"the broker's answer: {problem}", "refusal")
                await happened_within(stop, REPORT_SECONDS)

    async def _talk(self, stop: asyncio.Event) -> None:
        client = ControlClient(self._socket, ANSWER_SECONDS_MAX)
        try:
            boot = (await client.request({"command": "status"})).get("boot")
            self._boot = boot if isinstance(boot, str) else None
            self._told = None
            self._on_broker()
            while True:
                is_last = stop.is_set()
                await self._say_all(client)
                if is_last:
                    return
                await either_within(self._news, stop, REPORT_SECONDS)
        finally:
            client.close()

    async def _say_all(self, client: ControlClient) -> None:
        self._news.clear()
        head = self._head
        if head is not None and head != self._told and head.boot == self._boot:
            await client.request(
                {
                    "command": "exported",
                    "sequence": head.last_sequence,
                    "segment": head.segment,
                    "sha256": head.sha256,
                }
            )
            self._told = head
        await client.request({"command": "report", "source": "uploader", "status": self._status()})
        self._refusal.end()

"""The uplink's status reaches a control socket that appears later or refuses a report."""

import asyncio
from pathlib import Path
from typing import Any

from gateway.uplink.reporting import report
from tests.peers.control_server import ControlServer, refusal, result
from tests.uplink.bench import DEADLINE_SECONDS


class Room(ControlServer):
    """A control socket server that refuses the first report and counts the reports."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.answered = asyncio.Semaphore(0)

    def answer_of(self, request: dict[str, Any]) -> bytes:
        return result({}) if len(self.requests) > 1 else refusal("bad_request", "too early")

    async def received(self) -> None:
        self.answered.release()


async def test_reports_continue_through_a_socket_that_is_absent_and_one_that_refuses(
    tmp_path: Path,
) -> None:
    path = tmp_path / "control.sock"
    reporting = asyncio.create_task(report(path, lambda: {"out": {}}, 0.01))
    try:
        async with Room(path) as room, asyncio.timeout(DEADLINE_SECONDS):
            for _ in range(3):
                await room.answered.acquire()
        assert room.requests[0] == {"command": "report", "source": "uplink", "status": {"out": {}}}
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)

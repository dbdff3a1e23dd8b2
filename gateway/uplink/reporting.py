"""Status reports of the uplink to the broker's control socket, for the status page.

Reports are skipped while the broker is not running.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from gateway.process.control.client import ControlClient
from gateway.process.control.messages import Refused, UnusableAnswer

logger = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 5.0


async def report(path: Path, status: Callable[[], dict[str, object]], every_seconds: float) -> None:
    """Call `status` every `every_seconds` seconds, and send the result to the control socket.

    `path` is the path of the control socket. The function never returns.
    """
    client = ControlClient(path, ANSWER_SECONDS_MAX)
    try:
        while True:
            request = {"command": "report", "source": "uplink", "status": status()}
            with contextlib.suppress(OSError, EOFError, UnusableAnswer):
                try:
                    await client.request(request)
                except Refused as refusal:
                    logger.debug("the broker refused a report: %s", refusal)
            await asyncio.sleep(every_seconds)
    finally:
        client.close()

"""Reports the uplink's status to the broker's control socket, where the page finds it.

The socket may be absent for as long as the broker is: a report is simply not made.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from gateway.control.client import ControlClient
from gateway.control.messages import Refused, UnusableAnswer

logger = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 5.0


async def report(path: Path, status: Callable[[], dict[str, object]], every_seconds: float) -> None:
    """Report again and again; does not return by itself."""
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

"""Entry point of the uplink: one process with a queue on disk and a session at each broker.

The process can be stopped at any time. Messages that are not durable have not been acknowledged,
and durable messages are sent after the next start.
"""

import asyncio
import logging
from collections.abc import Callable

from gateway.process.files.queue_process import Supervision, end_all, serve_queue
from gateway.uplink.committer import Committer
from gateway.uplink.link import Link
from gateway.uplink.recovery import NAMES, open_uplink_store
from gateway.uplink.reporting import report
from gateway.uplink.routes import Side
from gateway.uplink.settings import UplinkSettings

logger = logging.getLogger(__name__)

QUEUE_FILE = "uplink.db"


def _nothing() -> None:
    """Do nothing. This is the default callback of `serve`."""


async def serve(
    settings: UplinkSettings,
    stop: asyncio.Event,
    ready: Callable[[], None] = _nothing,
    alive: Callable[[], None] = _nothing,
) -> None:
    """Run the uplink until `stop` is set.

    Args:
        settings: all settings of the uplink.
        stop: event that stops the uplink.
        ready: called when the queue is open, or when the uplink begins to wait for disk space.
        alive: called every second while the event loop runs and no commit hangs.

    Raises:
        QueueError: if the queue cannot be used. The message is one line that explains how to
            fix the problem.
    """
    supervision = Supervision(stop, ready, alive)
    await serve_queue(
        settings.data_dir / QUEUE_FILE,
        NAMES,
        supervision,
        open_database=open_uplink_store,
        opened_on=lambda store: Committer(store, queue_bytes_max=settings.queue_bytes_max),
        serve=lambda committer: _serve(settings, committer, supervision),
    )


async def _serve(settings: UplinkSettings, committer: Committer, supervision: Supervision) -> None:
    local = Link(Side.LOCAL, settings.local, settings, committer)
    remote = Link(Side.REMOTE, settings.remote, settings, committer)

    def status() -> dict[str, object]:
        return {"local": local.status(), "remote": remote.status(), **committer.status()}

    async with asyncio.TaskGroup() as tasks:
        committing = tasks.create_task(committer.run())
        linking = [tasks.create_task(link.run()) for link in (local, remote)]
        reporting = tasks.create_task(
            report(settings.control_socket, status, settings.report_seconds)
        )
        logger.info(
            "uplink started: %d topic%s, queue %s",
            len(settings.routes),
            "s" * (len(settings.routes) != 1),
            settings.data_dir,
        )
        supervision.ready()
        await supervision.watch(committer.commits)
        await end_all([*linking, reporting])
        committer.stop()
        await committing
    waiting = {side: lane.status()["waiting"] for side, lane in committer.lanes.items()}
    logger.info(
        "uplink stopped, %d messages wait for the upstream broker, %d for the local one",
        waiting[Side.REMOTE],
        waiting[Side.LOCAL],
    )

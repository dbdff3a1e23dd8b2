"""Runs a function in a thread that might hang. The process can still exit without delay."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable


async def in_daemon_thread(work: Callable[[], None]) -> None:
    """Run the function `work` in a daemon thread and wait for it. Its exceptions are raised again.

    If the wait is cancelled, the thread continues, but does not prevent the process from exiting.
    With `asyncio.to_thread`, the process could not exit before the thread ends. Without a network,
    this can take minutes.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def finish(problem: BaseException | None) -> None:
        if ended.done():
            return
        if problem is None:
            ended.set_result(None)
        else:
            ended.set_exception(problem)

    def run() -> None:
        problem: BaseException | None = None
        try:
            work()
        except BaseException as raised:  # noqa: BLE001 - it is raised again, on the loop's side
            problem = raised
        # The loop may be closed, so that nothing waits for the result.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, problem)

    threading.Thread(target=run, name="upload", daemon=True).start()
    await ended

"""Virtual time, and an event loop on it without threads or sockets.

Callbacks run in the order of their times. Equal times run in the order of their requests, so that a
run is always the same. The world around the broker uses the `Timeline` directly. A `VirtualLoop`
has the part of asyncio's interface that the broker uses. When its process ends, its pending
callbacks are dropped.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.instruments.simulation.machine_clock import START_SECONDS, MachineClock

Callback = Callable[..., object]

if TYPE_CHECKING:
    # For the type checker this is a complete loop; missing methods raise NotImplementedError.
    _Loop: TypeAlias = asyncio.SelectorEventLoop
else:
    _Loop = asyncio.AbstractEventLoop


class Timeline:
    """Callbacks with their times."""

    def __init__(self) -> None:
        self.now = START_SECONDS
        self.clock = MachineClock(lambda: self.now)
        self.moment = 0
        """The number of callbacks so far. A moment of a run lies between two callbacks."""
        self.failure: BaseException | None = None
        self._heap: list[tuple[float, int, Callback, tuple[Any, ...]]] = []
        self._count = 0

    def at(self, when: float, callback: Callback, *arguments: Any) -> None:
        """Call back at `when`, or immediately if it is over."""
        self._count += 1
        heappush(self._heap, (max(when, self.now), self._count, callback, arguments))

    def after(self, seconds: float, callback: Callback, *arguments: Any) -> None:
        """Call back after some seconds."""
        self.at(self.now + seconds, callback, *arguments)

    def step(self) -> bool:
        """Run the next callback. Return False if there is none."""
        if not self._heap:
            return False
        self.now, _, callback, arguments = heappop(self._heap)
        self.moment += 1
        callback(*arguments)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return True


class VirtualLoop(_Loop):
    """The event loop of one run of the broker's process."""

    def __init__(
        self,
        timeline: Timeline,
        run_blocking: Callable[[Callable[[], object], "asyncio.Future[Any]"], None],
        powered_at: float = 0.0,
    ) -> None:
        self.timeline = timeline
        self._powered_at = powered_at
        """The start of the machine's monotonic clock."""
        self.alive = True
        self._coroutines: list[Coroutine[Any, Any, Any]] = []
        self._run_blocking = run_blocking

    def end(self) -> None:
        """End the process: none of its pending callbacks will run."""
        self.alive = False
        for coroutine in self._coroutines:
            coroutine.close()

    def time(self) -> float:
        return self.timeline.now - self._powered_at

    def get_debug(self) -> bool:
        return False

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callback,
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        at = when + self._powered_at
        while at - self._powered_at < when:  # rounded up, so that the loop is not woken too early
            at = nextafter(at, inf)
        self.timeline.at(at, self._serve, handle)
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callback,
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_soon(  # type: ignore[override]
        self, callback: Callback, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        return self.call_at(self.time(), callback, *args, context=context)

    def _serve(self, handle: asyncio.TimerHandle) -> None:
        if self.alive and not handle.cancelled():
            handle._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled handle is skipped at its time."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], **_: Any
    ) -> "asyncio.Task[Any]":
        self._coroutines.append(coro)
        task = asyncio.Task(coro, loop=self)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self.timeline.failure = task.exception()

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., object], *args: Any
    ) -> "asyncio.Future[Any]":
        assert not args, "the committer's functions take no arguments"
        future = self.create_future()
        self._run_blocking(func, future)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.alive:
            self.timeline.failure = context.get("exception") or RuntimeError(context["message"])

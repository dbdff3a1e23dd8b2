"""Passes events from the broker core to the observer in the operator's module.

The core appends events on the event loop's thread. They are kept until their batch is durable, and
then passed to the observer's thread. If too many events are waiting, new events are dropped and
counted, so the broker never waits. Exceptions that the observer raises are counted too.
"""

import asyncio
import importlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

from gateway.broker.core.broker import Broker
from gateway.broker.core.events import (
    Connected,
    Delivered,
    Disconnected,
    Dropped,
    Event,
    Lost,
    Published,
    Subscribed,
    Unsubscribed,
)

logger = logging.getLogger(__name__)

WAITING_EVENTS_MAX: Final = 10_000
"""Maximum number of events that wait for the observer: about a second of a busy gateway."""

WAITING_BYTES_MAX: Final = 16 * 1024 * 1024
"""Maximum size of the waiting events in bytes: an observer that hangs must not fill the memory."""

EVENT_BYTES: Final = 256
"""Assumed size of an event in bytes, without its topic and payload."""

STOP_SECONDS: Final = 2.0
"""Maximum time that the broker waits for the observer when it stops."""

METHODS: Final[dict[type, str]] = {
    Connected: "connected",
    Disconnected: "disconnected",
    Lost: "lost",
    Subscribed: "subscribed",
    Unsubscribed: "unsubscribed",
    Published: "published",
    Delivered: "delivered",
    Dropped: "dropped",
}

Handler = Callable[[Any], object]
Weighed = tuple[int, Event]


class Hooks:
    """The operator's observer module, and the thread in which the module runs."""

    def __init__(self, module: str, broker: Broker) -> None:
        self.module = module
        self.problem: str | None = None
        """Why the module could not be loaded, as one sentence, or None."""
        self.lost = 0
        self.failed = 0
        self._broker = broker
        self._statistics = broker.statistics
        self._held_back: deque[tuple[int, Weighed]] = deque()
        self._queue: SimpleQueue[list[Weighed] | None] = SimpleQueue()
        # Each of the four counters is written by only one thread.
        self._accepted = 0
        self._accepted_bytes = 0
        self._done = 0
        self._done_bytes = 0
        self._thread = threading.Thread(target=self._run, name="hooks", daemon=True)

    def start(self) -> None:
        """Start the thread that loads and runs the operator's module.

        A slow or invalid module does not delay clients, because the event loop runs in another
        thread.
        """
        self._statistics.observe = self.observe
        self._thread.start()

    def waiting(self) -> int:
        """Return the number of events that the observer has not received yet."""
        return self._accepted - self._done

    # -- on the loop's thread

    def observe(self, event: Event) -> None:
        """Queue an event from the core, or drop and count the event if too many are waiting."""
        weight_bytes = _weight_of(event)
        if (
            self.waiting() >= WAITING_EVENTS_MAX
            or self._accepted_bytes - self._done_bytes + weight_bytes > WAITING_BYTES_MAX
        ):
            self.lost += 1
            if _is_power_of_ten(self.lost):
                logger.warning(
                    "[hooks] module = %r is too slow: %d events lost so far", self.module, self.lost
                )
            return
        self._accepted += 1
        self._accepted_bytes += weight_bytes
        self._held_back.append((self._broker.batch.batch_number, (weight_bytes, event)))

    def release(self) -> None:
        """Pass the events that depend only on durable batches to the observer's thread."""
        if self.problem is not None:
            self._statistics.observe = None
            self._held_back.clear()
            return
        held_back = self._held_back
        if not held_back:
            return
        durable_batch = self._broker.committed_batch
        current_batch = self._broker.batch.batch_number
        if durable_batch == current_batch - 1 and not self._broker.batch.record_count:
            durable_batch = current_batch  # nothing has been recorded in it so far
        ready: list[Weighed] = []
        while held_back and held_back[0][0] <= durable_batch:
            ready.append(held_back.popleft()[1])
        if ready:
            self._queue.put(ready)

    async def stop(self) -> None:
        """Deliver the remaining events to the observer, for at most STOP_SECONDS."""
        self._statistics.observe = None
        self._queue.put(None)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._thread.join, STOP_SECONDS)
        if self._thread.is_alive():
            logger.warning(
                "[hooks] module = %r did not finish within %g s: %d events were not delivered",
                self.module,
                STOP_SECONDS,
                self.waiting(),
            )

    def status(self) -> dict[str, Any]:
        """Return the `hooks` object of the status, as in docs/formats/control-socket.md."""
        return {
            "module": self.module,
            "told": self._done,
            "waiting": self.waiting(),
            "lost": self.lost,
            "failed": self.failed,
            "problem": self.problem,
        }

    # -- on the observer's thread

    def _run(self) -> None:
        handlers = self._load()
        if handlers is None:
            return
        while (events := self._queue.get()) is not None:
            for weight_bytes, event in events:
                handler = handlers.get(type(event))
                if handler is not None:
                    self._notify(handler, event)
                self._done += 1
                self._done_bytes += weight_bytes

    def _load(self) -> dict[type, Handler] | None:
        loaded: list[Any] = []
        problem = _problem_of(lambda: loaded.append(importlib.import_module(self.module)))
        if problem is not None:
            self._fail(f"{_sentence_of(problem)}; correct the module or PYTHONPATH")
            return None
        observer = getattr(loaded[0], "observer", None)
        if observer is None:
            self._fail("the module has no `observer`; add observer = MyObserver() at its end")
            return None
        found = {kind: getattr(observer, name, None) for kind, name in METHODS.items()}
        handlers = {kind: handler for kind, handler in found.items() if callable(handler)}
        if not handlers:
            self._fail(f"`observer` has none of the methods {', '.join(METHODS.values())}")
            return None
        logger.info("[hooks] module = %r watches", self.module)
        return handlers

    def _fail(self, problem: str) -> None:
        self.problem = f'[hooks] module = "{self.module}": {problem}'
        logger.error("%s; the broker runs without it", self.problem)

    def _notify(self, handler: Handler, event: Event) -> None:
        problem = _problem_of(lambda: handler(event))
        if problem is None:
            return
        self.failed += 1
        if _is_power_of_ten(self.failed):
            logger.error(
                "[hooks] module = %r failed at %s, %d times so far: %s",
                self.module,
                METHODS[type(event)],
                self.failed,
                _sentence_of(problem),
            )


def _problem_of(call: Callable[[], object]) -> BaseException | None:
    """Call code of the observer module, and return the exception that the code raised, or None."""
    try:
        call()
    except BaseException as problem:  # noqa: BLE001 - it may raise anything, even SystemExit
        return problem
    return None


def _sentence_of(problem: BaseException) -> str:
    """Return one line that describes an exception and its location, without a traceback."""
    place = ""
    trace = problem.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f" in {code.co_filename} line {trace.tb_lineno}"
        trace = trace.tb_next
    text = " ".join(str(problem).split())[:500]
    return f"{type(problem).__name__}: {text}{place}"


def _weight_of(event: Event) -> int:
    if isinstance(event, Published):
        return EVENT_BYTES + len(event.topic) + len(event.payload)
    if isinstance(event, Delivered | Dropped):
        return EVENT_BYTES + (0 if event.topic is None else len(event.topic))
    if isinstance(event, Subscribed | Unsubscribed):
        return EVENT_BYTES + len(event.topic_filter)
    return EVENT_BYTES


def _is_power_of_ten(count: int) -> bool:
    """Return True if `count` is a power of ten.

    Failures are counted, and only the 1st, 10th, 100th and so on are logged.
    """
    text = str(count)
    return text == "1" + "0" * (len(text) - 1)

"""Operators' requests about serial ports and sensors. The broker forwards them to the bridge.

The bridge has the serial ports and writes the sensors' files, but has no socket of its own. It
fetches requests with the command `serial_requests` on `control.sock`. The broker answers this
command as soon as there is a request. The bridge sends its answers with its next `serial_requests`.
This module does not check the requests. `operating.py` has already checked who may send them, and
the bridge checks their contents.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from gateway.broker.server.control.refused import Refused

COMMANDS: Final = (
    *("serial_ports", "serial_port", "serial_detect", "serial_progress", "serial_frames"),
    *("serial_save", "serial_remove", "serial_undo"),
)
"""Commands that are forwarded to the bridge."""
READING: Final = frozenset({"serial_ports", "serial_port", "serial_progress", "serial_frames"})
"""Forwarded commands that change nothing and open no port."""
RELOAD: Final = "serial_reload"
"""Command that makes the bridge read its ports and its alarms' topic again, sent after a reload of
the broker."""

REQUESTS_MAX: Final = 8
"""Maximum number of requests that wait for the bridge. The status page has the same limit for
concurrent requests."""
REQUEST_BYTES_MAX: Final = 128 * 1024
"""Maximum size of a request in bytes. A sensor's file has at most half this size."""
ANSWER_SECONDS_MAX: Final = 12.0
"""Maximum time for the bridge to answer: a slow SD card takes seconds to write a file. The status
page waits for 15 s."""
POLL_SECONDS_MAX: Final = 20.0
"""Time after which `serial_requests` is answered even without a request, so that the bridge notices
that the broker is still running."""
AWAY_SECONDS: Final = 5.0
"""Seconds without a poll after which the bridge counts as away. A request then waits for the same
time, because a bridge that is starting tries to connect every 2 s."""

Request = dict[str, Any]
Answer = dict[str, Any]


class SensorRequests:
    """Queue of requests that the bridge has not answered yet.

    All calls must come from the same event loop.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._queue: deque[Request] = deque()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._number = 0
        self._turn = 0
        self._is_polled = False
        self._polled_at = -AWAY_SECONDS
        self._wake = asyncio.Event()
        self._is_stopped = False
        self.tenant: str | None = None
        """The tenant that this broker belongs to, or None. Only the gateway's own broker has serial
        ports."""

    @property
    def commands(self) -> dict[str, Callable[[Request], Awaitable[Answer]]]:
        """Handler functions for the commands about sensors, keyed by command name."""
        return {**dict.fromkeys(COMMANDS, self._pass_on), "serial_requests": self._serial_requests}

    def reload(self) -> None:
        """Tell the bridge that the configuration was reloaded.

        The bridge then reads its serial ports and its alarms' topic from the configuration again.
        The call returns without waiting for the bridge's answer.
        """
        if len(self._queue) < REQUESTS_MAX and self._is_bridge_there:
            self._put({"command": RELOAD})

    def stop(self) -> None:
        """End the bridge's waiting command `serial_requests`, because the broker is stopping."""
        self._is_stopped = True
        self._wake.set()

    async def _pass_on(self, request: Request) -> Answer:
        """Forward a request to the bridge and return the bridge's answer.

        Raises Refused if the bridge refuses the request or does not answer, or if too many requests
        are waiting for the bridge.
        """
        if self.tenant is not None:
            raise Refused("of_the_gateway", "serial ports are the gateway's, not a tenant's")
        if len(self._waiting) >= REQUESTS_MAX:
            raise Refused("busy", "the bridge is busy with other requests: try again in a moment")
        if len(json.dumps(request)) > REQUEST_BYTES_MAX:
            raise Refused("bad_request", f"a request has at most {REQUEST_BYTES_MAX} bytes")
        seconds = ANSWER_SECONDS_MAX if self._is_bridge_there else AWAY_SECONDS
        passed_on = self._put(request)
        number = passed_on["number"]
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                answer = await answered
        except TimeoutError:
            what = "is not running" if passed_on in self._queue else "has not answered"
            raise Refused(
                "bridge_away", f"the bridge, which has the serial ports, {what}: {seconds:g} s"
            ) from None
        finally:
            del self._waiting[number]
            # A bridge that starts later must not execute a request that was given up.
            if passed_on in self._queue:
                self._queue.remove(passed_on)
        return _result_of(answer)

    async def _serial_requests(self, request: Request) -> Answer:
        """Handle the command `serial_requests`, with which the bridge fetches requests.

        Accept the bridge's answers to earlier requests. Then wait for new requests and return them.
        Raises Refused if the command is invalid.
        """
        answers = request.get("answers")
        if not isinstance(answers, list):
            raise Refused("bad_request", "'answers' is a list")
        for each in answers[:REQUESTS_MAX]:
            number = each.get("number") if isinstance(each, dict) else None
            waiting = self._waiting.get(number) if isinstance(number, int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(each)
        # The poll of a bridge that was killed must not receive requests for the next one.
        self._turn += 1
        turn, self._is_polled = self._turn, True
        self._wake.set()
        deadline = self._now() + POLL_SECONDS_MAX
        while not (self._queue or self._is_stopped or turn != self._turn):
            self._wake.clear()
            try:
                async with asyncio.timeout(deadline - self._now()):
                    await self._wake.wait()
            except TimeoutError:
                break
        if turn != self._turn:
            return {"requests": []}
        self._is_polled, self._polled_at = False, self._now()
        requests = [*self._queue]
        self._queue.clear()
        return {"requests": requests}

    @property
    def _is_bridge_there(self) -> bool:
        return (
            self._is_polled or bool(self._waiting) or self._now() - self._polled_at < AWAY_SECONDS
        )

    def _put(self, request: Request) -> Request:
        self._number += 1
        numbered = {**request, "number": self._number}
        self._queue.append(numbered)
        self._wake.set()
        return numbered


def _result_of(answer: Answer) -> Answer:
    match answer:
        case {"ok": True, "result": dict(result)}:
            return result
        case {"ok": False, "error": {"code": str(code), "message": str(message)}}:
            raise Refused(code, message)
    raise Refused("failed", "the bridge's response is invalid: restart bridge and broker")

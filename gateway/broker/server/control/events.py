"""The command `events`: what the session log has of the last minutes or hours."""

import asyncio
import json
from typing import Any, Final

from gateway.broker.core.records.blob import DamagedBlob
from gateway.broker.core.records.events import Event, decode
from gateway.broker.server.commit.recent_blobs import RecentBlobs
from gateway.broker.server.control.refused import Refused, text_of
from gateway.process.control.messages import LINE_BYTES_MAX

EVENTS_MAX: Final = 1_000
"""Events in one answer."""
EVENTS_BYTES_MAX: Final = LINE_BYTES_MAX // 2
"""Their size as JSON, in bytes."""
TEXT_CHARACTERS_MAX: Final = 1_024
"""Length of a topic or a detail. The session log has all of it."""
SLICE_BYTES: Final = 32 * 1024
"""Blobs that are decoded at a time. The clients wait for it."""
NAMES_MAX: Final = 50
"""Names of events that one request asks for."""


class Wanted:
    """Selection of events: of a client or a serial port, by name, between two numbers."""

    def __init__(self, request: dict[str, Any]) -> None:
        """Read the request.

        Raises:
            Refused: a member is not as docs/formats/control-socket.md has it.
        """
        self.limit = _whole_number(request, "limit", 100, EVENTS_MAX)
        self.after = _whole_number(request, "after", 0, None)
        self.before = _whole_number(request, "before", None, None)
        self.client_id = text_of(request, "client_id", "")
        self.port = text_of(request, "port", "")
        names = request.get("names", [])
        if not isinstance(names, list) or len(names) > NAMES_MAX:
            raise Refused("bad_request", f"'names' is a list of at most {NAMES_MAX} events")
        self.names = frozenset(str(name) for name in names)

    def has(self, event: Event) -> bool:
        """Return True if an event is asked for. Its number is checked elsewhere."""
        if self.client_id and event.get("client_id") != self.client_id:
            return False
        if self.port and event.get("port") != self.port:
            return False
        return not self.names or event["event"] in self.names


class Found:
    """Events in one answer, the newest first."""

    def __init__(self, wanted: Wanted) -> None:
        self.events: list[dict[str, Any]] = []
        self.next: int | None = None
        """`before` of a request for those that had no place in this answer."""
        self._wanted = wanted
        self._size_bytes = 0
        self._topics: dict[tuple[str, object], str] = {}
        """By store and message: contents may be of another client than a delivery."""
        self._of_message: dict[int, tuple[str, object]] = {}
        """By index in `events`."""

    def take(self, blob: bytes) -> bool:
        """Add the events of a blob. Return False when no older blob is needed."""
        try:
            batch = decode(blob)
        except DamagedBlob:
            return True  # The next start salvages the journal, and reports it.
        wanted = self._wanted
        for index in reversed(range(len(batch.events))):
            event = batch.events[index]
            sequence = batch.first_sequence + index
            message = batch.store, event.get("message")
            if "topic" in event and message[1] is not None:
                self._topics[message] = str(event["topic"])
            if sequence <= wanted.after:
                return False
            if (wanted.before is None or sequence < wanted.before) and wanted.has(event):
                shown = {"sequence": sequence, "time": batch.time_ms, **_shortened(event)}
                self._size_bytes += len(json.dumps(shown))
                if len(self.events) == wanted.limit or self._size_bytes > EVENTS_BYTES_MAX:
                    self.next = sequence + 1
                    return False
                if message[1] is not None:
                    self._of_message[len(self.events)] = message
                self.events.append(shown)
        return True

    def answer(self) -> dict[str, Any]:
        """Return the result of the command, with the topic of each message that is known."""
        for index, message in self._of_message.items():
            if message in self._topics:
                topic = self._topics[message]
                self.events[index].setdefault("topic", topic[:TEXT_CHARACTERS_MAX])
        return {"events": self.events, "next": self.next}


class Events:
    """Answers from the newest blobs."""

    def __init__(self, recent: RecentBlobs) -> None:
        self._recent = recent
        self._turn = asyncio.Lock()

    async def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer `events`. One request is answered at a time, in slices.

        Raises:
            Refused: the request is not as docs/formats/control-socket.md has it.
        """
        found = Found(Wanted(request))
        async with self._turn:
            decoded_bytes = 0
            for blob in self._recent.newest_first():
                if not found.take(blob):
                    break
                decoded_bytes += len(blob)
                if decoded_bytes >= SLICE_BYTES:
                    decoded_bytes = 0
                    await asyncio.sleep(0)
        return found.answer()


def _whole_number(
    request: dict[str, Any], name: str, default: int | None, greatest: int | None
) -> Any:
    value = request.get(name, default)
    if value is default:
        return value
    least = 0 if greatest is None else 1
    if type(value) is not int or value < least or (greatest is not None and value > greatest):
        bounds = f"at least {least}" if greatest is None else f"{least} to {greatest}"
        raise Refused("bad_request", f"{name!r} has to be a whole number, {bounds}")
    return value


def _shortened(event: Event) -> dict[str, Any]:
    """Return an event with the size of its payload in place of the payload."""
    shown: dict[str, Any] = {}
    for name, value in event.items():
        if isinstance(value, bytes):
            shown[f"{name}_bytes"] = len(value)
        else:
            shown[name] = value[:TEXT_CHARACTERS_MAX] if isinstance(value, str) else value
    return shown

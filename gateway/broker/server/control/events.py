"""The command `events`, which returns the newest events of the session log."""

import asyncio
import json
from typing import Any, Final

from gateway.broker.core.records.blob import DamagedBlob
from gateway.broker.core.records.events import Event, decode
from gateway.broker.server.commit.recent_blobs import RecentBlobs
from gateway.broker.server.control.refused import Refused, text_of
from gateway.process.control.messages import LINE_BYTES_MAX

EVENTS_MAX: Final = 1_000
"""Maximum number of events per answer."""
EVENTS_BYTES_MAX: Final = LINE_BYTES_MAX // 2
"""Maximum size of the events in one answer as JSON, in bytes."""
TEXT_CHARACTERS_MAX: Final = 1_024
"""Maximum length of a topic or a detail in an answer. The session log contains the whole string."""
SLICE_BYTES: Final = 32 * 1024
"""Number of bytes decoded before the event loop serves clients again."""
NAMES_MAX: Final = 50
"""Maximum number of event names in one request."""


class Wanted:
    """The events that a request asks for.

    A request can select events by client, serial port, name of the event and sequence number.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        """Parse a request for events.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
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
        """Return True if an event has the requested client, serial port and name.

        The caller checks whether the event's sequence number is in the requested range.
        """
        if self.client_id and event.get("client_id") != self.client_id:
            return False
        if self.port and event.get("port") != self.port:
            return False
        return not self.names or event["event"] in self.names


class Found:
    """Collector of the matching events for one answer, the newest first."""

    def __init__(self, wanted: Wanted) -> None:
        self.events: list[dict[str, Any]] = []
        self.next: int | None = None
        """Value of `before` in a request for the remaining events, or None if there are none."""
        self._wanted = wanted
        self._size_bytes = 0
        self._topics: dict[tuple[str, object], str] = {}
        """Topics of messages, by store id and message number. A message's topic may be known from
        an event about another client."""
        self._by_message: dict[int, tuple[str, object]] = {}
        """Store id and message number of each event about a message, by the event's index in
        `events`."""

    def take(self, blob: bytes) -> bool:
        """Add the matching events of an encoded batch (`blob`).

        Return True if events of older batches are needed as well.
        """
        try:
            batch = decode(blob)
        except DamagedBlob:
            return True  # The next start salvages the journal, and reports the damage.
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
                    self._by_message[len(self.events)] = message
                self.events.append(shown)
        return True

    def answer(self) -> dict[str, Any]:
        """Return the result of the command `events`.

        If an event about a message does not contain the message's topic, the topic is copied from
        another event about the message, if possible.
        """
        for index, message in self._by_message.items():
            if message in self._topics:
                topic = self._topics[message]
                self.events[index].setdefault("topic", topic[:TEXT_CHARACTERS_MAX])
        return {"events": self.events, "next": self.next}


class EventCommands:
    """Handler for the command `events`, which returns the newest events in the journal."""

    def __init__(self, recent: RecentBlobs) -> None:
        self._recent = recent
        self._turn = asyncio.Lock()

    async def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `events`. Only one request is processed at a time.

        The events are decoded in steps, so that decoding does not block the event loop.

        Raises:
            Refused: the request does not conform to docs/formats/control-socket.md.
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
    """Return an event with long strings truncated, and with sizes in place of payloads."""
    shown: dict[str, Any] = {}
    for name, value in event.items():
        if isinstance(value, bytes):
            shown[f"{name}_bytes"] = len(value)
        else:
            shown[name] = value[:TEXT_CHARACTERS_MAX] if isinstance(value, str) else value
    return shown

"""The latest recorded message of each topic, from the newest data in the journal.

New journal data is decoded at the next request, and only once, so that decoding does not slow down
publishing. Messages that are not recorded do not appear here, for example those at QoS 0 without a
persistent subscriber.
"""

import asyncio
from typing import Any, Final

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.core.records.kinds import Origin, RecordKind
from gateway.broker.core.records.reader import records_of
from gateway.broker.core.records.record import Contents
from gateway.broker.core.sessions.message import QOS, RETAIN
from gateway.broker.server.commit.recent_blobs import RecentBlobs
from gateway.broker.server.control.payloads import PAYLOAD_BYTES_SHOWN, payload_of

LATEST_BYTES_MAX: Final = 2 * 1024 * 1024
"""Maximum memory for the latest messages in bytes, enough for some 3,000 topics. Beyond it, the
oldest messages are removed."""
LATEST_BYTES_EACH: Final = 400
"""Memory for one message in bytes, in addition to its strings and its payload."""
SLICE_BYTES: Final = 32 * 1024
"""Number of bytes decoded before the event loop serves clients again."""


class LatestMessage:
    """The latest recorded message of a topic, with the first bytes of its payload."""

    def __init__(self, record: Contents, client_id: str, time_ms: int) -> None:
        self.number = record.message
        self.qos = record.flags & QOS
        self.client_id = client_id
        self.time_ms = time_ms
        self._payload = bytes(record.payload[: PAYLOAD_BYTES_SHOWN + 1])
        self._payload_bytes = len(record.payload)

    def memory_bytes(self, topic: str) -> int:
        """Return the memory that the message and its topic occupy, in bytes."""
        texts = text_bytes_of(topic) + text_bytes_of(self.client_id)
        return LATEST_BYTES_EACH + texts + len(self._payload)

    def shown(self) -> dict[str, Any]:
        """Return the message as a JSON object for answers (docs/formats/control-socket.md)."""
        return {
            **payload_of(self._payload, self._payload_bytes),
            "qos": self.qos,
            "client_id": self.client_id or None,
            "time_ms": self.time_ms,
        }


class LatestMessages:
    """Index of the latest message of each topic. All calls must come from the same event loop."""

    def __init__(self, recent: RecentBlobs) -> None:
        self._recent = recent
        self._turn = asyncio.Lock()
        self._seen = 0
        """Number of the newest decoded event."""
        self._size_bytes = 0
        self.by_topic: dict[str, LatestMessage] = {}
        """The latest messages by topic, the oldest message first."""

    async def update(self) -> None:
        """Decode the events that have been recorded since the last call, and update the index.

        The events are decoded in steps, so that decoding does not block the event loop.
        """
        async with self._turn:
            found: dict[str, LatestMessage | None] = {}
            newest, sliced_bytes = self._seen, 0
            for data in self._recent.newest_first():
                try:
                    blob = Blob(data)
                    if blob.last_sequence <= self._seen:
                        break
                    for topic, message in _messages_in(blob).items():
                        found.setdefault(topic, message)
                except (DamagedBlob, KeyError, ValueError):
                    continue  # The next start salvages the journal, and reports the damage.
                newest = max(newest, blob.last_sequence)
                sliced_bytes += len(data)
                if sliced_bytes >= SLICE_BYTES:
                    sliced_bytes = 0
                    await asyncio.sleep(0)
            self._seen = newest
            for topic, message in reversed(found.items()):
                self._put(topic, message)

    def _put(self, topic: str, message: LatestMessage | None) -> None:
        before = self.by_topic.pop(topic, None)
        if before is not None:
            self._size_bytes -= before.memory_bytes(topic)
        if message is None:
            return
        self.by_topic[topic] = message
        self._size_bytes += message.memory_bytes(topic)
        while self._size_bytes > LATEST_BYTES_MAX:
            oldest = next(iter(self.by_topic))
            self._size_bytes -= self.by_topic.pop(oldest).memory_bytes(oldest)


def _messages_in(blob: Blob) -> dict[str, LatestMessage | None]:
    """Return the latest message of each topic in an encoded batch, keyed by topic.

    The dictionary begins with the most recent message. The value is None for a topic that was
    cleared by an empty retained message.
    """
    found: dict[str, LatestMessage | None] = {}
    for record in records_of(blob):
        if not isinstance(record, Contents):
            continue
        if record.kind is not RecordKind.MESSAGE_HELD and record.origin is Origin.GATEWAY:
            continue  # An earlier message, recorded again for another receiver.
        client_id = blob.names[record.session] if record.session else ""
        is_cleared = record.flags & RETAIN and not record.payload
        found.pop(record.topic, None)
        found[record.topic] = None if is_cleared else LatestMessage(record, client_id, blob.time_ms)
    return dict(reversed(found.items()))

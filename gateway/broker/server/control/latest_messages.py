"""The latest recorded message of each topic, from the newest blobs of the journal.

Each blob is decoded once, at the first request after it: publishing costs nothing. Messages that
are not recorded are missing, such as those of QoS 0 without a persistent subscriber.
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
"""Memory of the latest messages: some 3,000 topics. Beyond it the oldest messages are removed."""
LATEST_BYTES_EACH: Final = 400
"""Memory of one in addition to its texts."""
SLICE_BYTES: Final = 32 * 1024
"""Bytes of blobs decoded per turn of the event loop. Clients wait meanwhile."""


class LatestMessage:
    """The latest recorded message of a topic, with the start of its payload."""

    def __init__(self, record: Contents, client_id: str, time_ms: int) -> None:
        self.number = record.message
        self.qos = record.flags & QOS
        self.client_id = client_id
        self.time_ms = time_ms
        self._payload = bytes(record.payload[: PAYLOAD_BYTES_SHOWN + 1])
        self._payload_bytes = len(record.payload)

    def memory_bytes(self, topic: str) -> int:
        """Return the memory that it takes with its topic."""
        texts = text_bytes_of(topic) + text_bytes_of(self.client_id)
        return LATEST_BYTES_EACH + texts + len(self._payload)

    def shown(self) -> dict[str, Any]:
        """Return it as in docs/formats/control-socket.md."""
        return {
            **payload_of(self._payload, self._payload_bytes),
            "qos": self.qos,
            "client_id": self.client_id or None,
            "time_ms": self.time_ms,
        }


class LatestMessages:
    """The index by topic. Use it from one event loop."""

    def __init__(self, recent: RecentBlobs) -> None:
        self._recent = recent
        self._turn = asyncio.Lock()
        self._seen = 0
        """The newest event that was decoded."""
        self._size_bytes = 0
        self.by_topic: dict[str, LatestMessage] = {}
        """The topic whose message is oldest is first."""

    async def update(self) -> None:
        """Decode what was recorded since the last call, in slices."""
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
                    continue  # The next start salvages the journal, and reports it.
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
    """Return the last message of each topic in a blob, the newest first. None: it was cleared."""
    found: dict[str, LatestMessage | None] = {}
    for record in records_of(blob):
        if not isinstance(record, Contents):
            continue
        if record.kind is not RecordKind.MESSAGE_HELD and record.origin is Origin.GATEWAY:
            continue  # An earlier message, recorded once more for another receiver.
        client_id = blob.names[record.session] if record.session else ""
        is_cleared = record.flags & RETAIN and not record.payload
        found.pop(record.topic, None)
        found[record.topic] = None if is_cleared else LatestMessage(record, client_id, blob.time_ms)
    return dict(reversed(found.items()))

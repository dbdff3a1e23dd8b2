"""Blobs for the uploader's tests, from the core's own recorder, and a journal in memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records import layout
from gateway.broker.core.records.kinds import StartKind
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.message import Delivery, Held, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State

SYNCHRONISED = ClockQuality.SYNCHRONISED
UNSYNCHRONISED = ClockQuality.UNSYNCHRONISED


def identity_of(word: str) -> bytes:
    """Return eight bytes derived from the word, as the id of a boot or a store."""
    return hashlib.sha256(word.encode()).digest()[:8]


class Broker:
    """A broker that records batches of complete QoS 2 exchanges in the journal's format."""

    def __init__(self, *, boot: str = "first boot", store: str = "store", after: int = 0) -> None:
        self.boot = identity_of(boot).hex()
        self.store = identity_of(store).hex()
        self.recorder = Recorder(
            State([]),
            identity_of(store),
            identity_of(boot),
            batch_number=1,
            next_sequence=after + 1,
        )
        self.session = Session(7, "sensor-7", persistent=True)
        self.messages = 0
        self.clock = SYNCHRONISED

    @property
    def last_sequence(self) -> int:
        return self.recorder.next_sequence - 1

    def sealed(self) -> bytes:
        blob = self.recorder.seal(1_760_000_000_000 + self.last_sequence, self.clock)
        assert blob is not None
        return blob

    def started(self) -> bytes:
        """Return the first batch of a boot, which has one event."""
        self.recorder.broker_started(StartKind.CLEAN, "0.1.0", "")
        return self.sealed()

    def exchanges(
        self, count: int, *, topic: str = "sensors/7/temperature", payload: bytes | None = None
    ) -> bytes:
        """Return a batch of `count` messages, from receipt to completed delivery: 5 events each."""
        for _ in range(count):
            self._exchange(topic, payload)
        return self.sealed()

    def _exchange(self, topic: str, payload: bytes | None) -> None:
        self.messages += 1
        number = self.messages
        packet_id = number % 65_535 + 1
        text = b'[{"n":"temperature","u":"Cel","v":%d.5}]' % number if payload is None else payload
        name = topic.encode()
        message = Message(number, topic, len(name).to_bytes(2, "big") + name, text, 2, False)
        held = Held(self.session, packet_id, message, 0.0)
        self.recorder.message_held(held)
        self.recorder.message_released(held, 1)
        delivery = Delivery(self.session, message, number, 2, number)
        self.recorder.delivery_started(delivery, packet_id)
        self.recorder.delivery_received(delivery)
        self.recorder.delivery_completed(delivery)


def first_sequence_of(blob: bytes) -> int:
    return int(layout.BLOB_HEADER.unpack_from(blob)[6])


@dataclass
class MemoryJournal:
    """A journal in a list, called as `journal(after_sequence, bytes_max)`.

    Raises `error` if it is set.
    """

    blobs: list[bytes] = field(default_factory=list)
    error: OSError | None = None

    def __call__(self, after_sequence: int, bytes_max: int) -> list[bytes]:
        if self.error is not None:
            raise self.error
        # Like the store's reader: from the blob that begins at or before the next event.
        starts = [
            index
            for index, blob in enumerate(self.blobs)
            if first_sequence_of(blob) <= after_sequence + 1
        ]
        page: list[bytes] = []
        for blob in self.blobs[max(starts, default=0) :]:
            page.append(blob)
            if sum(map(len, page)) >= bytes_max:
                break
        return page

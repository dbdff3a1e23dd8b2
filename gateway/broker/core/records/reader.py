"""Parser for the records of a blob. No other module parses records."""

from collections.abc import Iterator
from struct import error as StructError
from typing import Any, Final

from gateway.broker.core.records import layout
from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.core.records.kinds import (
    CloseReason,
    DropReason,
    EndReason,
    Observation,
    Origin,
    RecordKind,
    StartKind,
    WillClearReason,
)
from gateway.broker.core.records.record import (
    BrokerStarted,
    Connected,
    Contents,
    Dropped,
    Ended,
    Exchange,
    ExpiryChanged,
    Filter,
    Observed,
    Owned,
    QueueRecord,
    Record,
    Retained,
    WillSet,
)
from gateway.broker.core.sessions.message import SINGLE_SUBSCRIPTION

_KINDS: Final = {kind.value: kind for kind in RecordKind}
_CLOSE_REASONS: Final = list(CloseReason)
_END_REASONS: Final = list(EndReason)
_DROP_REASONS: Final = list(DropReason)
_WILL_CLEAR_REASONS: Final = list(WillClearReason)
_ORIGINS: Final = list(Origin)


def records_of(blob: Blob) -> Iterator[Record]:
    """Yield the records of a blob, in order.

    The records have consecutive sequence numbers, starting with `blob.first_sequence`.

    Raises:
        DamagedBlob: the blob is truncated or altered, or has an unknown version.
    """
    reader = _Reader(blob)
    for index in range(blob.record_count):
        try:
            record = reader.next_record()
        except (StructError, IndexError, KeyError, ValueError) as error:
            raise DamagedBlob(f"record {index} of {blob.record_count}: {error}") from error
        yield record
    if reader.at != blob.records_end:
        raise DamagedBlob(f"{blob.records_end - reader.at} bytes after the last record")


class _Reader:
    """Sequential reader of the records in one blob."""

    def __init__(self, blob: Blob) -> None:
        self.data = blob.data
        self.at = blob.records_at
        self.end = blob.records_end

    def bytes(self, length: int) -> bytes:
        """Read and return the next `length` bytes."""
        start = self.at
        self.at = start + length
        if self.at > self.end:
            raise ValueError(f"{length} bytes at {start} go beyond the records")
        return self.data[start : self.at]

    def text(self, length: int) -> str:
        """Read the next `length` bytes and return them as a string."""
        return self.bytes(length).decode()

    def lossy_text(self, length: int) -> str:
        """Read the next `length` bytes as a string, even if its last character is truncated."""
        return self.bytes(length).decode("utf-8", "replace")

    def next_record(self) -> Record:
        """Read the next record. Raises struct.error, LookupError or ValueError if it is damaged."""
        number = self.bytes(1)[0]
        if number not in _KINDS:
            raise ValueError(f"unknown record kind {number}")
        kind = _KINDS[number]
        record_layout = layout.LAYOUTS[number]
        fields = record_layout.fixed.unpack_from(self.data, self.at - 1)
        self.at += record_layout.size - 1
        if kind is RecordKind.MESSAGE_HELD or kind is RecordKind.MESSAGE_PUBLISHED:
            return self._contents(kind, fields)
        if kind is RecordKind.MESSAGE_QUEUED:
            _, session, message, flags, position = fields
            return QueueRecord(kind, session, 0, message, flags, self._key(flags), position)
        if kind is RecordKind.DELIVERY_STARTED:
            _, session, packet_id, message, flags, position = fields
            return QueueRecord(kind, session, packet_id, message, flags, self._key(flags), position)
        if kind is RecordKind.DELIVERED_AT_QOS0:
            _, session, message, position = fields
            return QueueRecord(kind, session, 0, message, 0, 0, position)
        if kind is RecordKind.MESSAGE_DROPPED:
            _, session, message, reason, position = fields
            return Dropped(session, message, _DROP_REASONS[reason], position)
        if kind is RecordKind.MESSAGE_RELEASED:
            _, session, packet_id, message, matched = fields
            return Exchange(kind, session, packet_id, message, matched=matched)
        if kind is RecordKind.DELIVERY_RESENT:
            _, session, packet_id, message, step = fields
            return Exchange(kind, session, packet_id, message, is_pubrel=step != 0)
        if record_layout.fixed is layout.EXCHANGE_RECORD:
            _, session, packet_id, message = fields
            return Exchange(kind, session, packet_id, message)
        if kind is RecordKind.RETAINED_SET:
            _, message, topic_bytes, source_bytes = fields
            return Retained(kind, self.text(topic_bytes), message, self.text(source_bytes))
        if kind is RecordKind.RETAINED_CLEARED:
            return Retained(kind, self.text(fields[1]), 0)
        return self._read_other(kind, fields)

    def _read_other(self, kind: RecordKind, fields: tuple[Any, ...]) -> Record:
        session: int = fields[1] if len(fields) > 1 else 0
        if kind is RecordKind.SESSION_OPENED or kind is RecordKind.SESSION_RESUMED:
            _, _, flags, protocol, keep_alive, expiry, address_bytes = fields
            address = self.lossy_text(address_bytes)
            return Connected(kind, session, flags != 0, protocol, keep_alive, expiry, address)
        if kind is RecordKind.SESSION_CLOSED:
            return Ended(kind, session, _CLOSE_REASONS[fields[2]])
        if kind is RecordKind.SESSION_ENDED:
            return Ended(kind, session, _END_REASONS[fields[2]])
        if kind is RecordKind.WILL_CLEARED:
            return Ended(kind, session, _WILL_CLEAR_REASONS[fields[2]])
        if kind is RecordKind.SUBSCRIBED:
            _, _, options, identifier, filter_bytes = fields
            return Filter(kind, session, self.text(filter_bytes), options, identifier)
        if kind is RecordKind.UNSUBSCRIBED:
            return Filter(kind, session, self.text(fields[2]), 0, 0)
        if kind is RecordKind.WILL_SET:
            _, _, flags, delay, expiry, topic_bytes, payload_bytes, properties_bytes = fields
            topic = self.text(topic_bytes)
            payload = self.bytes(payload_bytes)
            return WillSet(
                session, flags, delay, expiry, topic, payload, self.bytes(properties_bytes)
            )
        if kind is RecordKind.EXPIRY_CHANGED:
            return ExpiryChanged(session, fields[2])
        if kind is RecordKind.SESSION_OWNED:
            return Owned(session, self.text(fields[2]))
        if kind is RecordKind.OBSERVED:
            subject = self.lossy_text(fields[3])
            return Observed(session, Observation(fields[2]), subject, self.lossy_text(fields[4]))
        if kind is RecordKind.BROKER_STARTED:
            version = self.lossy_text(fields[2])
            return BrokerStarted(StartKind(fields[1]), version, self.lossy_text(fields[3]))
        return Record(kind)

    def _contents(self, kind: RecordKind, fields: tuple[Any, ...]) -> Contents:
        if kind is RecordKind.MESSAGE_HELD:
            _, session, packet_id, *message = fields
            origin, matched = Origin.CLIENT, 0
        else:
            _, session, origin_number, matched, *message = fields
            packet_id, origin = 0, _ORIGINS[origin_number]
        number, flags, topic_bytes, payload_bytes, properties_bytes = message
        topic = self.text(topic_bytes)
        payload = self.bytes(payload_bytes)
        expires_ms, forwarded = layout.properties_in(self.bytes(properties_bytes))
        return Contents(
            kind,
            session,
            packet_id,
            origin,
            matched,
            number,
            flags,
            topic,
            payload,
            expires_ms,
            forwarded,
        )

    def _key(self, flags: int) -> int:
        """Read the subscription key at the end of a delivery's record.

        Return 0 if the record has no key, according to the delivery's `flags`.
        """
        if not flags & SINGLE_SUBSCRIPTION:
            return 0
        key: int = layout.KEY.unpack(self.bytes(layout.KEY.size))[0]
        return key

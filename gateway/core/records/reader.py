"""A journal blob, read for people and tables: records become the events of the session log.

See docs/formats/session-log.md for the events and docs/formats/journal.md for the blob. Reading
checks the CRC first and every length after it: a damaged blob is reported, never guessed at.
"""

from struct import error as StructError
from zlib import crc32

from gateway.core.records import layout
from gateway.core.sessions.message import THROUGH_ONE

EventValue = int | str | bytes | bool | None
Event = dict[str, EventValue]


class DamagedBlob(ValueError):
    """A blob that is not what a recorder wrote: cut, flipped, or of an unknown version."""


class Blob:
    """A blob taken apart: its header, the names of its sessions and where its records lie."""

    def __init__(self, data: bytes) -> None:
        if len(data) < layout.BLOB_HEADER_1.size + layout.CRC.size:
            raise DamagedBlob(f"{len(data)} bytes are less than the header of a journal blob")
        self.has_gateway_time = data[:4] == layout.BLOB_MAGIC
        if not self.has_gateway_time and data[:4] != layout.BLOB_MAGIC_1:
            raise DamagedBlob(f"begins with {data[:4]!r}, expected {layout.BLOB_MAGIC!r}")
        if crc32(data[:-4]) != layout.CRC.unpack(data[-4:])[0]:
            raise DamagedBlob("the CRC does not match the contents")
        fields = layout.BLOB_HEADER_1.unpack_from(data)
        self.data = data
        self.store = bytes(fields[1]).hex()
        self.boot = bytes(fields[2]).hex()
        self.clock: int = fields[3]
        self.time_ms: int = fields[4]
        """Wall time."""
        self.number: int = fields[5]
        self.first_sequence: int = fields[6]
        self.record_count: int = fields[7]
        names_bytes: int = fields[8]
        self.gateway_ms = self.time_ms
        """Gateway time; of a blob of the first format wall time, which deadlines were made of."""
        self.names_at = layout.BLOB_HEADER_1.size
        if self.has_gateway_time:
            self.names_at = layout.BLOB_HEADER.size
            if len(data) < self.names_at + layout.CRC.size:
                raise DamagedBlob(f"{len(data)} bytes are less than the header of a journal blob")
            self.gateway_ms = layout.BLOB_HEADER.unpack_from(data)[10]
        self.records_at = self.names_at + names_bytes
        self.records_end = self.records_at + int(fields[9])
        if self.records_end + layout.CRC.size != len(data):
            raise DamagedBlob("the lengths in the header do not add up to the blob's length")
        try:
            self.names = self._names()
        except (StructError, UnicodeDecodeError) as error:
            raise DamagedBlob(f"the names of its sessions: {error}") from error

    @property
    def last_sequence(self) -> int:
        """Of its last event; one less than the first where it has none."""
        return self.first_sequence + self.record_count - 1

    def _names(self) -> dict[int, str]:
        names: dict[int, str] = {}
        at = self.names_at
        while at < self.records_at:
            number, length = layout.NAME_RECORD.unpack_from(self.data, at)
            at += layout.NAME_RECORD.size
            names[number] = self.data[at : at + length].decode()
            at += length
        return names


class JournalBatch:
    """A blob's events. Event `index` has the sequence number `first_sequence + index`."""

    def __init__(self, blob: Blob, events: list[Event]) -> None:
        self.number = blob.number
        self.store = blob.store
        self.boot = blob.boot
        self.clock: str = layout.CLOCKS[blob.clock]
        self.time_ms = blob.time_ms
        self.first_sequence = blob.first_sequence
        self.events = events


def decode(data: bytes) -> JournalBatch:
    """Return the batch in a blob; `payload` of a message is raw bytes.

    Raises:
        DamagedBlob: the blob is not what a recorder wrote.
    """
    blob = Blob(data)
    reader = _Reader(blob)
    events: list[Event] = []
    try:
        for _ in range(blob.record_count):
            events.append(reader.next_event())
    except (StructError, IndexError, KeyError, ValueError) as error:
        raise DamagedBlob(f"record {len(events)} of {blob.record_count}: {error}") from error
    if reader.at != blob.records_end:
        raise DamagedBlob(f"{blob.records_end - reader.at} bytes after the last record")
    return JournalBatch(blob, events)


class _Reader:
    """Walks over the records of a blob."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob
        self.data = blob.data
        self.at = blob.records_at

    def text(self, length: int) -> str:
        """Return the next `length` bytes as text."""
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def next_event(self) -> Event:
        """Read one record."""
        kind = self.data[self.at]
        if kind in (layout.RETAINED_SET, layout.RETAINED_CLEARED):
            return self._retained(kind)
        if kind == layout.BROKER_STARTED:
            return self._started()
        if kind == layout.BROKER_STOPPED:
            self.at += layout.BROKER_STOPPED_RECORD.size
            return {"event": "broker_stopped"}
        if kind == layout.OBSERVED:
            return self._observed()
        number = int.from_bytes(self.data[self.at + 1 : self.at + 5], "little")
        event: Event = {"event": "", "session": number, "client_id": self.blob.names[number]}
        if kind <= layout.UNSUBSCRIBED:
            self._session_record(kind, event)
        elif kind in (layout.MESSAGE_HELD, layout.MESSAGE_PUBLISHED):
            self._message_record(kind, event)
        elif kind in (layout.WILL_SET, layout.WILL_CLEARED):
            self._will_record(kind, event)
        elif kind == layout.SESSION_OWNED:
            fields = layout.OWNED_RECORD.unpack_from(self.data, self.at)
            self.at += layout.OWNED_RECORD.size
            event["event"] = "session_owned"
            event["username"] = self.text(fields[2])
        elif kind == layout.EXPIRY_CHANGED:
            fields = layout.EXPIRY_RECORD.unpack_from(self.data, self.at)
            self.at += layout.EXPIRY_RECORD.size
            event["event"] = "session_expiry_changed"
            event["session_expiry_seconds"] = fields[2]
        else:
            self._step_record(kind, event)
        return event

    def _session_record(self, kind: int, event: Event) -> None:
        data = self.data
        if kind in (layout.SESSION_OPENED, layout.SESSION_RESUMED):
            fields = layout.CONNECT_RECORD.unpack_from(data, self.at)
            self.at += layout.CONNECT_RECORD.size
            event["event"] = (
                "session_opened" if kind == layout.SESSION_OPENED else "session_resumed"
            )
            event["clean"] = bool(fields[2])
            event["protocol"] = fields[3]
            event["keep_alive_seconds"] = fields[4]
            event["session_expiry_seconds"] = fields[5]
            event["address"] = self.text(fields[6])
        elif kind in (layout.SESSION_CLOSED, layout.SESSION_ENDED):
            fields = layout.REASON_RECORD.unpack_from(data, self.at)
            self.at += layout.REASON_RECORD.size
            closed = kind == layout.SESSION_CLOSED
            event["event"] = "session_closed" if closed else "session_ended"
            event["reason"] = (layout.CLOSE_REASONS if closed else layout.END_REASONS)[fields[2]]
        elif kind == layout.SUBSCRIBED:
            fields = layout.SUBSCRIBED_RECORD.unpack_from(data, self.at)
            self.at += layout.SUBSCRIBED_RECORD.size
            event["event"] = "subscribed"
            event["filter"] = self.text(fields[4])
            event["qos"] = fields[2] & 3
        elif kind == layout.UNSUBSCRIBED:
            fields = layout.FILTER_RECORD.unpack_from(data, self.at)
            self.at += layout.FILTER_RECORD.size
            event["event"] = "unsubscribed"
            event["filter"] = self.text(fields[2])
        else:
            raise KeyError(f"unknown record kind {kind}")

    def _message_record(self, kind: int, event: Event) -> None:
        if kind == layout.MESSAGE_HELD:
            fields = layout.HELD_RECORD.unpack_from(self.data, self.at)
            self.at += layout.HELD_RECORD.size
            event["event"] = "message_held"
            event["packet_id"] = fields[2]
            message = fields[3:]
        else:
            fields = layout.PUBLISHED_RECORD.unpack_from(self.data, self.at)
            self.at += layout.PUBLISHED_RECORD.size
            event["event"] = "message_published"
            event["origin"] = layout.ORIGINS[fields[2]]
            event["matched"] = fields[3]
            message = fields[4:]
        number, flags, topic_bytes, payload_bytes, properties_bytes = message
        event["message"] = number
        event["topic"] = self.text(topic_bytes)
        event["qos"] = flags & 3
        event["retain"] = bool(flags & 4)
        event["payload"] = self.data[self.at : self.at + payload_bytes]
        self.at += payload_bytes + properties_bytes

    def _step_record(self, kind: int, event: Event) -> None:
        data, at = self.data, self.at
        if kind in _INBOUND_NAMES:
            fields = layout.INBOUND_RECORD.unpack_from(data, at)
            self.at += layout.INBOUND_RECORD.size
            event["event"] = _INBOUND_NAMES[kind]
            event["packet_id"], event["message"] = fields[2:]
        elif kind == layout.MESSAGE_RELEASED:
            fields = layout.RELEASED_RECORD.unpack_from(data, at)
            self.at += layout.RELEASED_RECORD.size
            event["event"] = "message_released"
            event["packet_id"], event["message"], event["matched"] = fields[2:]
        elif kind == layout.MESSAGE_QUEUED:
            fields = layout.QUEUED_RECORD.unpack_from(data, at)
            self.at += layout.QUEUED_RECORD.size + _key_bytes(fields[3])
            event["event"] = "message_queued"
            event["message"], event["qos"], event["position"] = fields[2], fields[3] & 3, fields[4]
        elif kind == layout.DELIVERY_STARTED:
            fields = layout.STARTED_RECORD.unpack_from(data, at)
            self.at += layout.STARTED_RECORD.size + _key_bytes(fields[4])
            event["event"] = "delivery_started"
            event["packet_id"], event["message"] = fields[2], fields[3]
            event["qos"], event["position"] = fields[4] & 3, fields[5]
        elif kind == layout.DELIVERY_RESENT:
            fields = layout.RESENT_RECORD.unpack_from(data, at)
            self.at += layout.RESENT_RECORD.size
            event["event"] = "delivery_resent"
            event["packet_id"], event["message"] = fields[2], fields[3]
            event["packet"] = "pubrel" if fields[4] else "publish"
        elif kind == layout.DELIVERED_AT_QOS0:
            fields = layout.QOS0_RECORD.unpack_from(data, at)
            self.at += layout.QOS0_RECORD.size
            event["event"] = "delivery_completed"
            event["packet_id"], event["message"] = 0, fields[2]
        elif kind == layout.MESSAGE_DROPPED:
            fields = layout.DROPPED_RECORD.unpack_from(data, at)
            self.at += layout.DROPPED_RECORD.size
            event["event"] = "message_dropped"
            event["message"], event["reason"] = fields[2], layout.DROP_REASONS[fields[3]]
        else:
            raise KeyError(f"unknown record kind {kind}")

    def _will_record(self, kind: int, event: Event) -> None:
        if kind == layout.WILL_CLEARED:
            fields = layout.REASON_RECORD.unpack_from(self.data, self.at)
            self.at += layout.REASON_RECORD.size
            event["event"] = "will_cleared"
            event["reason"] = layout.WILL_CLEAR_REASONS[fields[2]]
            return
        fields = layout.WILL_RECORD.unpack_from(self.data, self.at)
        self.at += layout.WILL_RECORD.size
        event["event"] = "will_set"
        event["topic"] = self.text(fields[5])
        event["qos"] = fields[2] & 3
        event["retain"] = bool(fields[2] & 4)
        event["delay_seconds"] = fields[3]
        self.at += fields[6] + fields[7]

    def _retained(self, kind: int) -> Event:
        if kind == layout.RETAINED_SET:
            fields = layout.RETAINED_RECORD.unpack_from(self.data, self.at)
            self.at += layout.RETAINED_RECORD.size
            return {"event": "retained_set", "topic": self.text(fields[2]), "message": fields[1]}
        fields = layout.CLEARED_RECORD.unpack_from(self.data, self.at)
        self.at += layout.CLEARED_RECORD.size
        return {"event": "retained_cleared", "topic": self.text(fields[1])}

    def _observed(self) -> Event:
        fields = layout.OBSERVED_RECORD.unpack_from(self.data, self.at)
        self.at += layout.OBSERVED_RECORD.size
        kind = layout.OBSERVATIONS[fields[2]]
        event: Event = {"event": kind}
        if fields[1]:
            event["session"] = fields[1]
            event["client_id"] = self.blob.names[fields[1]]
        subject = self.text(fields[3])
        detail = self.text(fields[4])
        if kind == "clock_stepped":
            event["step_ms"] = int(detail)
        elif kind == "log_truncated":
            event["from_sequence"], event["to_sequence"] = int(subject), int(detail)
        elif kind in ("store_damaged", "clock_read"):
            event["detail"] = detail
        else:
            event[_SUBJECT_FIELDS[kind]] = subject
            event["detail"] = detail
        return event

    def _started(self) -> Event:
        fields = layout.BROKER_STARTED_RECORD.unpack_from(self.data, self.at)
        self.at += layout.BROKER_STARTED_RECORD.size
        event: Event = {"event": "broker_started", "recovery": layout.RECOVERIES[fields[1]]}
        event["version"] = self.text(fields[2])
        event["previous_boot"] = self.text(fields[3]) or None
        return event


def _key_bytes(flags: int) -> int:
    """Return how many bytes of a subscription's key follow a delivery's record."""
    return layout.KEY.size if flags & THROUGH_ONE else 0


_INBOUND_NAMES = {
    layout.DUPLICATE_SUPPRESSED: "duplicate_suppressed",
    layout.MESSAGE_ABANDONED: "message_abandoned",
    layout.DELIVERY_RECEIVED: "delivery_received",
    layout.DELIVERY_COMPLETED: "delivery_completed",
}
_SUBJECT_FIELDS = {
    "limit_hit": "limit",
    "protocol_error": "reason",
    "serial_port_found": "port",
    "serial_port_lost": "port",
}

"""Conversion of journal records to events of the session log (docs/formats/session-log.md)."""

from collections.abc import Mapping
from typing import Final

from gateway.broker.core.records.blob import Blob, DamagedBlob
from gateway.broker.core.records.kinds import Observation, Origin, RecordKind
from gateway.broker.core.records.reader import records_of
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
from gateway.broker.core.sessions.message import QOS, RETAIN

_NAMES: Final = [""] * (max(RecordKind) + 1)
"""Names of events by record kind. Some differ from the name of the record kind."""
for _kind in RecordKind:
    _NAMES[_kind] = _kind.word
_NAMES[RecordKind.DELIVERED_AT_QOS0] = RecordKind.DELIVERY_COMPLETED.word
_NAMES[RecordKind.EXPIRY_CHANGED] = "session_expiry_changed"
_ORIGINS: Final = [origin.word for origin in Origin]

EventValue = int | str | bytes | bool | None
Event = dict[str, EventValue]


class JournalBatch:
    """The events of one blob. The sequence number of `events[n]` is `first_sequence + n`."""

    def __init__(self, blob: Blob, events: list[Event]) -> None:
        self.number = blob.number
        self.store = blob.store
        self.boot = blob.boot
        self.clock = blob.clock.word
        self.time_ms = blob.time_ms
        self.first_sequence = blob.first_sequence
        self.events = events


def decode(data: bytes) -> JournalBatch:
    """Decode a blob, and return the events of its batch.

    In events with a message, `payload` is raw bytes.

    Raises:
        DamagedBlob: the blob is truncated or altered, or has an unknown version.
    """
    blob = Blob(data)
    events: list[Event] = []
    try:
        for record in records_of(blob):
            events.append(event_of(record, blob.names))
        return JournalBatch(blob, events)
    except (KeyError, ValueError) as error:
        if isinstance(error, DamagedBlob):
            raise
        raise DamagedBlob(f"record {len(events)} of {blob.record_count}: {error}") from error


def event_of(record: Record, names: Mapping[int, str]) -> Event:
    """Convert a journal record to an event of the session log.

    Args:
        record: a record of the journal.
        names: the client ids of the blob's sessions, by session number.

    Raises:
        KeyError: `names` does not contain the record's session.
        ValueError: a text field of the record must contain an integer, but does not.
    """
    event: Event = {"event": _NAMES[record.kind]}
    if isinstance(record, Observed):
        event["event"] = record.event.word
    if record.session:
        event["session"] = record.session
        event["client_id"] = names[record.session]
    if isinstance(record, Contents):
        _add_contents(record, event)
    elif isinstance(record, (QueueRecord, Exchange, Dropped)):
        _add_step(record, event)
    elif isinstance(record, Retained):
        event["topic"] = record.topic
        if record.kind is RecordKind.RETAINED_SET:
            event["message"] = record.message
    elif isinstance(record, WillSet):
        event["topic"] = record.topic
        event["qos"] = record.flags & QOS
        event["retain"] = record.flags & RETAIN != 0
        event["delay_seconds"] = record.delay_seconds
    elif isinstance(record, Observed):
        _add_observation(record, event)
    elif isinstance(record, BrokerStarted):
        event["recovery"] = record.recovery.word
        event["version"] = record.version
        event["previous_boot"] = record.previous_boot or None
    else:
        _add_session(record, event)
    return event


def _add_session(record: Record, event: Event) -> None:
    if isinstance(record, Connected):
        event["clean"] = record.clean
        event["protocol"] = record.protocol
        event["keep_alive_seconds"] = record.keep_alive_seconds
        event["session_expiry_seconds"] = record.expiry_seconds
        event["address"] = record.address
    elif isinstance(record, Ended):
        event["reason"] = record.reason.word
    elif isinstance(record, Filter):
        event["filter"] = record.topic_filter
        if record.kind is RecordKind.SUBSCRIBED:
            event["qos"] = record.options & QOS
    elif isinstance(record, ExpiryChanged):
        event["session_expiry_seconds"] = record.expiry_seconds
    elif isinstance(record, Owned):
        event["username"] = record.username


def _add_contents(record: Contents, event: Event) -> None:
    if record.kind is RecordKind.MESSAGE_HELD:
        event["packet_id"] = record.packet_id
    else:
        event["origin"] = _ORIGINS[record.origin]
        event["matched"] = record.matched
    event["message"] = record.message
    event["topic"] = record.topic
    event["qos"] = record.flags & QOS
    event["retain"] = record.flags & RETAIN != 0
    event["payload"] = record.payload


def _add_step(record: QueueRecord | Exchange | Dropped, event: Event) -> None:
    if isinstance(record, Dropped):
        event["message"] = record.message
        event["reason"] = record.reason.word
        return
    if record.kind is not RecordKind.MESSAGE_QUEUED:
        event["packet_id"] = record.packet_id
    event["message"] = record.message
    if isinstance(record, QueueRecord):
        if record.kind is not RecordKind.DELIVERED_AT_QOS0:
            event["qos"] = record.flags & QOS
            event["position"] = record.position
    elif record.kind is RecordKind.MESSAGE_RELEASED:
        event["matched"] = record.matched
    elif record.kind is RecordKind.DELIVERY_RESENT:
        event["packet"] = "pubrel" if record.is_pubrel else "publish"


def _add_observation(record: Observed, event: Event) -> None:
    if record.event is Observation.CLOCK_STEPPED:
        event["step_ms"] = int(record.detail)
    elif record.event is Observation.LOG_TRUNCATED:
        event["from_sequence"], event["to_sequence"] = int(record.subject), int(record.detail)
    elif record.event in (Observation.STORE_DAMAGED, Observation.CLOCK_READ):
        event["detail"] = record.detail
    else:
        event[_SUBJECT_FIELDS[record.event]] = record.subject
        event["detail"] = record.detail


_SUBJECT_FIELDS = {
    Observation.LIMIT_HIT: "limit",
    Observation.PROTOCOL_ERROR: "reason",
    Observation.SERIAL_PORT_FOUND: "port",
    Observation.SERIAL_PORT_LOST: "port",
    Observation.OPERATED: "action",
}

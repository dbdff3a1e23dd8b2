"""Journal records as read from a blob. The classes correspond to the layouts in `layout`.

The fields have the same names as in `layout`. `session` is the number of a session, or 0 if the
record has no session. `message` is the number of a message.
"""

from mypy_extensions import mypyc_attr

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


@mypyc_attr(acyclic=True)
class Record:
    """Base class of all records. A BROKER_STOPPED record is an instance of this class itself."""

    def __init__(self, kind: RecordKind, session: int = 0) -> None:
        self.kind = kind
        self.session = session


@mypyc_attr(acyclic=True)
class Connected(Record):
    """A SESSION_OPENED or SESSION_RESUMED record."""

    def __init__(
        self,
        kind: RecordKind,
        session: int,
        clean: bool,
        protocol: int,
        keep_alive_seconds: int,
        expiry_seconds: int,
        address: str,
    ) -> None:
        super().__init__(kind, session)
        self.clean = clean
        self.protocol = protocol
        self.keep_alive_seconds = keep_alive_seconds
        self.expiry_seconds = expiry_seconds
        self.address = address


@mypyc_attr(acyclic=True)
class Ended(Record):
    """A SESSION_CLOSED, SESSION_ENDED or WILL_CLEARED record. Each kind has its own reasons."""

    def __init__(
        self, kind: RecordKind, session: int, reason: CloseReason | EndReason | WillClearReason
    ) -> None:
        super().__init__(kind, session)
        self.reason = reason


@mypyc_attr(acyclic=True)
class Filter(Record):
    """A SUBSCRIBED or UNSUBSCRIBED record. An UNSUBSCRIBED record has only a filter."""

    def __init__(
        self, kind: RecordKind, session: int, topic_filter: str, options: int, identifier: int
    ) -> None:
        super().__init__(kind, session)
        self.topic_filter = topic_filter
        self.options = options
        self.identifier = identifier


@mypyc_attr(acyclic=True)
class Contents(Record):
    """A message with its contents, in a MESSAGE_HELD or MESSAGE_PUBLISHED record.

    Only a MESSAGE_HELD record has a `packet_id`. Only a MESSAGE_PUBLISHED record has an `origin`
    and a number of matching receivers (`matched`).
    """

    def __init__(
        self,
        kind: RecordKind,
        session: int,
        packet_id: int,
        origin: Origin,
        matched: int,
        message: int,
        flags: int,
        topic: str,
        payload: bytes,
        expires_ms: int,
        forwarded: bytes,
    ) -> None:
        super().__init__(kind, session)
        self.packet_id = packet_id
        self.origin = origin
        self.matched = matched
        self.message = message
        self.flags = flags
        self.topic = topic
        self.payload = payload
        self.expires_ms = expires_ms
        self.forwarded = forwarded


@mypyc_attr(acyclic=True)
class Exchange(Record):
    """A record of one step in the QoS 1 or 2 exchange of a message.

    The record's kind is DUPLICATE_SUPPRESSED, MESSAGE_RELEASED (with the number of matching
    receivers), MESSAGE_ABANDONED, DELIVERY_RESENT (a PUBREL or a PUBLISH), DELIVERY_RECEIVED or
    DELIVERY_COMPLETED.
    """

    def __init__(
        self,
        kind: RecordKind,
        session: int,
        packet_id: int,
        message: int,
        matched: int = 0,
        is_pubrel: bool = False,
    ) -> None:
        super().__init__(kind, session)
        self.packet_id = packet_id
        self.message = message
        self.matched = matched
        self.is_pubrel = is_pubrel


@mypyc_attr(acyclic=True)
class QueueRecord(Record):
    """A record of a message that enters or leaves a queue.

    The record's kind is MESSAGE_QUEUED, DELIVERY_STARTED (with `packet_id`) or DELIVERED_AT_QOS0.
    If `flags` contains SINGLE_SUBSCRIPTION, `key` identifies the only subscription for which the
    message is sent. Otherwise `key` is 0.
    """

    def __init__(
        self,
        kind: RecordKind,
        session: int,
        packet_id: int,
        message: int,
        flags: int,
        key: int,
        position: int,
    ) -> None:
        super().__init__(kind, session)
        self.packet_id = packet_id
        self.message = message
        self.flags = flags
        self.key = key
        self.position = position


@mypyc_attr(acyclic=True)
class Dropped(Record):
    """A MESSAGE_DROPPED record. `position` is NEVER_QUEUED if the message was not in a queue."""

    def __init__(self, session: int, message: int, reason: DropReason, position: int) -> None:
        super().__init__(RecordKind.MESSAGE_DROPPED, session)
        self.message = message
        self.reason = reason
        self.position = position


@mypyc_attr(acyclic=True)
class Retained(Record):
    """A RETAINED_SET or RETAINED_CLEARED record. A RETAINED_CLEARED record has only a topic.

    `source` describes the publisher, and is empty if the publisher is unknown.
    """

    def __init__(self, kind: RecordKind, topic: str, message: int, source: str = "") -> None:
        super().__init__(kind)
        self.topic = topic
        self.message = message
        self.source = source


@mypyc_attr(acyclic=True)
class WillSet(Record):
    """A WILL_SET record. `expiry_seconds` is -1 if the will has no message expiry interval."""

    def __init__(
        self,
        session: int,
        flags: int,
        delay_seconds: int,
        expiry_seconds: int,
        topic: str,
        payload: bytes,
        forwarded: bytes,
    ) -> None:
        super().__init__(RecordKind.WILL_SET, session)
        self.flags = flags
        self.delay_seconds = delay_seconds
        self.expiry_seconds = expiry_seconds
        self.topic = topic
        self.payload = payload
        self.forwarded = forwarded


@mypyc_attr(acyclic=True)
class ExpiryChanged(Record):
    """An EXPIRY_CHANGED record, which contains a session's new expiry interval."""

    def __init__(self, session: int, expiry_seconds: int) -> None:
        super().__init__(RecordKind.EXPIRY_CHANGED, session)
        self.expiry_seconds = expiry_seconds


@mypyc_attr(acyclic=True)
class Owned(Record):
    """A SESSION_OWNED record, which states to which user a session belongs."""

    def __init__(self, session: int, username: str) -> None:
        super().__init__(RecordKind.SESSION_OWNED, session)
        self.username = username


@mypyc_attr(acyclic=True)
class Observed(Record):
    """An OBSERVED record, which describes an event that does not change the state."""

    def __init__(self, session: int, event: Observation, subject: str, detail: str) -> None:
        super().__init__(RecordKind.OBSERVED, session)
        self.event = event
        self.subject = subject
        self.detail = detail


@mypyc_attr(acyclic=True)
class BrokerStarted(Record):
    """A BROKER_STARTED record. `previous_boot` is empty if there was no previous boot."""

    def __init__(self, recovery: StartKind, version: str, previous_boot: str) -> None:
        super().__init__(RecordKind.BROKER_STARTED)
        self.recovery = recovery
        self.version = version
        self.previous_boot = previous_boot

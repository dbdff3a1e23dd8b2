"""The contract of the control socket as types, which are also what the REST interface answers.

Promise: a value of these types has the shape of ``docs/formats/control-socket.md``: counters are
not negative, times can be shown as a date, numbers are finite. Fields that the contract does not
know are ignored, so that a newer broker can talk to an older page; a missing one is an error,
because a page that shows 0 for "not told" lies.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Field(ge=0)]
# Up to the last millisecond of the year 9999, the last that a calendar here can show.
Milliseconds = Annotated[int, Field(ge=0, le=253_402_300_799_999)]


class Told(BaseModel):
    """What another process told: strict, immutable, finite."""

    model_config = ConfigDict(
        strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Listener(Told):
    protocol: str
    bind: str | None = None
    port: int | None = None
    path: str | None = None
    """Path of the socket, or of the URL for a WebSocket listener."""


class Connections(Told):
    open: Count
    accepted: Count
    """Since the broker started."""
    refused: Count
    limit: Count


class SessionCounts(Told):
    connected: Count
    persistent: Count
    """Those that outlive their connection."""
    total: Count


class CountPerQos(Told):
    qos0: Count
    qos1: Count
    qos2: Count


class Messages(Told):
    received: CountPerQos
    """PUBLISH packets from clients, since the broker started."""
    sent: CountPerQos
    """PUBLISH packets to clients, since the broker started."""
    dropped: dict[str, Count]
    """Messages not delivered to a session, by reason."""
    duplicates_suppressed: Count
    """QoS 2 PUBLISH packets that came again before their PUBREL."""


class Queued(Told):
    messages: Count
    bytes: Count


class Journal(Told):
    batches: Count
    """Transactions since the broker started, each with one fsync."""
    facts: Count
    first_sequence: Count
    last_sequence: Count
    """The number of the newest event."""
    exported_sequence: Count
    """Up to this event the session log stands in sealed segments."""
    bytes: Count
    commit_ms_mean: Annotated[float, Field(ge=0)]
    """How long the disk takes for one."""
    commit_ms_max: Annotated[float, Field(ge=0)]


class Store(Told):
    recovery: str
    """How the broker found its database at start: new, clean, unclean or salvaged."""
    detail: str | None


class BrokerStatus(Told):
    """What the broker says about itself."""

    gateway: str
    """The gateway's id."""
    boot: str
    """16 hexadecimal digits, new at each start of the broker."""
    version: str
    compiled: bool
    """Whether the protocol's core runs compiled."""
    pid: Count
    state: str
    time_ms: Milliseconds
    """The broker's clock when it answered, milliseconds since 1970-01-01 UTC."""
    started_ms: Milliseconds
    uptime_seconds: Seconds
    listeners: list[Listener]
    connections: Connections
    sessions: SessionCounts
    subscriptions: Count
    """Topic filters of all sessions together."""
    retained: Count
    """Retained messages."""
    messages: Messages
    queued: Queued
    """Waits for a session that is away or busy."""
    inflight: Count
    """QoS 1 and 2 messages sent and not acknowledged."""
    awaiting_release: Count
    """QoS 2 messages received whose PUBREL has not come."""
    errors: dict[str, Count]
    """What clients did wrong, by kind."""
    journal: Journal
    store: Store
    warnings: list[str]
    """Sentences a person can act on."""


class _SessionFacts(Told):
    client_id: str
    session: Count
    """A client that starts a new session gets a new number."""
    connected: bool
    clean: bool
    """Whether the session ends with its connection."""
    protocol: int
    """Protocol level: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5.0."""
    address: str | None
    connected_since_ms: Milliseconds | None
    keep_alive_seconds: Count
    """0: the client promised nothing."""
    subscription_count: Count
    awaiting_release: Count
    queued_messages: Count
    queued_bytes: Count
    dropped_messages: Count
    """Not delivered, because its queue was full or they expired."""
    received_messages: Count
    delivered_messages: Count


class Session(_SessionFacts):
    inflight: Count
    """QoS 1 and 2 messages sent and not acknowledged."""


class SessionPage(Told):
    """Sessions in the order of their client ids."""

    sessions: list[Session]
    next: str | None
    """Give this as `after` to get the next page; null on the last one."""


class Subscription(Told):
    filter: str
    qos: Count


class InflightMessage(Told):
    packet_id: Count
    message: Count
    qos: Count
    state: str


class SessionDetail(_SessionFacts):
    subscriptions: list[Subscription]
    """At most 1,000."""
    inflight: list[InflightMessage]
    """At most 1,000."""


class BridgeMqtt(Told):
    connected: bool
    address: str


class Outbox(Told):
    waiting: Count
    """Readings on disk that have not been published."""
    in_flight: Count
    """Published, and not yet completed by the broker."""
    published: Count
    """Completed by the broker."""
    bytes: Count


class Quantity(Told):
    name: str
    value: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | float | bool | str | None
    unit: str | None = None
    """As SenML (RFC 8428) writes it."""
    time_ms: Milliseconds | None = None


class Device(Told):
    device: str
    boot: Count
    """How often the device has started, as it counts itself."""
    sequence: Count
    """The number of its latest frame."""
    last_ms: Milliseconds | None = None
    quantities: list[Quantity]


class Port(Told):
    name: str
    path: str | None
    framing: str
    state: str
    """open, lost or waiting."""
    bytes: Count
    frames: Count
    readings: Count
    damaged: dict[str, Count]
    """Frames that were skipped, by reason."""
    last_reading_ms: Milliseconds | None
    devices: list[Device]


class BridgeStatus(Told):
    mqtt: BridgeMqtt
    outbox: Outbox
    ports: list[Port]


class OpenSegment(Told):
    segment: Count
    events: Count


class SegmentCount(Told):
    count: Count
    bytes: Count


class UploaderStatus(Told):
    target: str
    """Where segments go."""
    open: OpenSegment
    sealed: SegmentCount
    """Segments that wait to be uploaded."""
    sent: SegmentCount
    """Segments uploaded."""
    last_sealed_sequence: Count
    last_upload_ms: Milliseconds | None
    failing_since_ms: Milliseconds | None
    error: str | None


class KeptReport(Told):
    """A report as the broker keeps it: it has not looked into ``status``."""

    time_ms: Milliseconds
    age_seconds: Seconds
    status: dict[str, object]


class Reports(Told):
    bridge: KeptReport | None = None
    uploader: KeptReport | None = None


class Report(Told):
    """The latest word of another process, as the broker keeps it."""

    time_ms: Milliseconds | None
    """When it was told, by the broker's clock; null if it never was since the broker started."""
    age_seconds: Seconds | None
    problem: str | None
    """Why `status` is null although the process did report."""


class SerialReport(Report):
    status: BridgeStatus | None


class UploadReport(Report):
    status: UploaderStatus | None

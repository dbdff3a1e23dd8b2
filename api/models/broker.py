"""The contract of the control socket as types, which are also what the REST interface answers.

Promise: a value of these types has the shape of ``docs/formats/control-socket.md``: counters are
not negative, times can be shown as a date, numbers are finite. Fields that the contract does not
know are ignored, so that a newer broker can talk to an older page; a missing one is an error,
because a page that shows 0 for "not told" lies. What sensors have a part in (``FromSensors``) is
read field by field instead: one that cannot be read is null and is named in ``unreadable``.
"""

from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
FiniteNumber = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0)]
# Up to the last millisecond of the year 9999, the last that a calendar here can show.
Milliseconds = Annotated[int, Field(ge=0, le=253_402_300_799_999)]


class Told(BaseModel):
    """What another process told: strict, immutable, finite."""

    model_config = ConfigDict(
        strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class FromSensors(Told):
    """What sensors, which may send anything, have a part in. Every field has a default."""

    unreadable: list[str] = []
    """Fields that were told and cannot be shown: no such time, no such number, another type."""

    @model_validator(mode="wrap")
    @classmethod
    def _without_the_unreadable(cls, told: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(told, dict):
            told = {name: told[name] for name in cls.model_fields if name in told}
            told.pop("unreadable", None)
        try:
            return handler(told)
        except ValidationError as error:
            if not isinstance(told, dict):
                return handler({"unreadable": ["all"]})
            names = {str(fault["loc"][0]) for fault in error.errors(include_url=False)}
            rest = {name: value for name, value in told.items() if name not in names}
            return handler({**rest, "unreadable": sorted(names)})


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


class Disk(Told):
    """The file system of the data directory."""

    total_bytes: Count
    free_bytes: Count
    free_min: Count
    """The floor: with less free nothing new is taken."""
    full: bool
    """Nothing new is taken."""
    full_since_ms: Milliseconds | None
    waits: bool
    """Something that was received cannot be written, and is not acknowledged."""
    reserve: bool
    """There is a file to go on with when nothing is free."""
    removed: dict[str, Count]
    """Files that went for want of room, by kind."""


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
    clock: str
    """How good that is: `synchronised`, `unsynchronised`, or `unknown`. A time that another process
    has reported is as good as the gateway's clock was then."""
    started_ms: Milliseconds
    """`uptime_seconds` before `time_ms`: it moves when the clock is set."""
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
    disk: Disk | None
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


class Quantity(FromSensors):
    name: str = "unknown"
    value: Integer | FiniteNumber | bool | str | None = None
    unit: str | None = None
    """As SenML (RFC 8428) writes it."""
    time_ms: Milliseconds | None = None


class Device(FromSensors):
    device: str = "unknown"
    boot: Count | None = None
    """How often the device has started, as it counts itself. A board that gives the numbers of an
    earlier start again has that number plus 2^32 * n, n = 1, 2, ..."""
    sequence: Count | None = None
    """The number of its latest frame."""
    last_ms: Milliseconds | None = None
    quantities: list[Quantity] = []


class Port(FromSensors):
    name: str = "unknown"
    path: str | None = None
    framing: str = "unknown"
    state: str = "unknown"
    """open, lost or waiting."""
    bytes: Count | None = None
    frames: Count | None = None
    readings: Count | None = None
    damaged: dict[str, Count] = {}
    """Frames that were skipped, by reason."""
    repeated_starts: Count | None = None
    """Starts of boards that gave the numbers of an earlier one again."""
    last_reading_ms: Milliseconds | None = None
    devices: list[Device] = []


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

"""The broker's status."""

from typing import Annotated

from pydantic import Field

from api.models.values import Count, Milliseconds, Reported, Seconds


class Certificate(Reported):
    subject: str
    not_after_ms: Milliseconds
    days_left: int
    """Negative once it has expired."""
    problem: str | None = None
    """That it ends soon, or why the files that are there now are not used."""


class Listener(Reported):
    protocol: str
    """`mqtt`, `websocket`, `unix`; with TLS `mqtts` or `wss`."""
    bind: str | None = None
    port: int | None = None
    path: str | None = None
    """Path of the socket, or of the URL for a WebSocket listener."""
    certificate: Certificate | None = None
    """What it serves with, where there is TLS."""


class Connections(Reported):
    open: Count
    accepted: Count
    """Since the broker started."""
    refused: Count
    limit: Count


class SessionCounts(Reported):
    connected: Count
    persistent: Count
    """Those that outlive their connection."""
    total: Count


class CountPerQos(Reported):
    qos0: Count
    qos1: Count
    qos2: Count


class RecentCount(Reported):
    """Messages dropped or denied for one client and reason within the last hour."""

    client_id: str
    """Empty where a message was dropped before delivery to any receiver."""
    username: str | None
    reason: str
    topic: str | None
    """The latest topic or filter."""
    count: Count


class SharedClientId(Reported):
    """A client identifier used by two devices, which keep disconnecting each other."""

    client_id: str
    addresses: list[str]
    """Addresses of the connection displaced last and of its successor."""
    count: Count
    """Takeovers within the last hour."""


class Messages(Reported):
    received: CountPerQos
    """PUBLISH packets from clients, since the broker started."""
    sent: CountPerQos
    """PUBLISH packets to clients, since the broker started."""
    dropped: dict[str, Count]
    """Messages not delivered to a session, by reason."""
    dropped_last_hour: Annotated[list[RecentCount], Field(default_factory=list)]
    """Those of the last hour by client and reason: the 20 with most of them."""
    duplicates_suppressed: Count
    """QoS 2 PUBLISH packets that came again before their PUBREL."""


class Queued(Reported):
    messages: Count
    bytes: Count
    memory_bytes: Count = 0
    """Memory of the queues of clean sessions."""
    memory_limit_bytes: Count = 0
    slowing: Count = 0
    """Sessions for whose queues publishers wait."""
    filling: Count = 0
    """Sessions whose queues are at least 80 % full, and for which no publisher waits."""


class Journal(Reported):
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
    """The longest since the broker started."""
    commit_ms_max_last_hour: Annotated[float, Field(ge=0)] = 0.0


class Store(Reported):
    recovery: str
    """How the broker found its database at start: new, clean, unclean or salvaged."""
    detail: str | None


class Disk(Reported):
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


class BrokerStatus(Reported):
    """The broker's status."""

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
    shared_client_ids_last_hour: Annotated[list[SharedClientId], Field(default_factory=list)]
    denied_last_hour: Annotated[list[RecentCount], Field(default_factory=list)]
    """Requests denied by access rules within the last hour, by client and kind: the 20 largest."""
    journal: Journal
    disk: Disk | None
    store: Store
    operations: Annotated[dict[str, Count], Field(default_factory=dict)]
    """What was done at the page since the broker's start, by command; `refused` was not done."""
    warnings: list[str]
    """Sentences a person can act on."""

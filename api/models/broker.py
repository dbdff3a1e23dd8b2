"""The broker's status: sessions, messages, journal, disk, listeners and warnings."""

from typing import Annotated

from pydantic import Field

from api.models.values import Count, FiniteNumber, Milliseconds, Reported, Seconds


class Certificate(Reported):
    subject: str
    not_after_ms: Milliseconds
    days_left: int
    """Days until the certificate expires; negative afterwards."""
    problem: str | None = None
    """A warning that the certificate expires soon, or the reason why new files are not used."""
    unused: bool = False
    """True if newer files exist but cannot be used."""


class Listener(Reported):
    protocol: str
    """`mqtt`, `websocket`, `unix`; with TLS `mqtts` or `wss`."""
    bind: str | None = None
    port: int | None = None
    path: str | None = None
    """Path of the socket, or of the URL for a WebSocket listener."""
    certificate: Certificate | None = None
    """Certificate of the listener; null without TLS."""


class Connections(Reported):
    open: Count
    accepted: Count
    """Connections accepted since the broker started."""
    refused: Count
    limit: Count


class SessionCounts(Reported):
    connected: Count
    persistent: Count
    """Sessions that outlive their connection."""
    total: Count


class CountPerQos(Reported):
    qos0: Count
    qos1: Count
    qos2: Count


class RecentCount(Reported):
    """Number of a client's dropped messages or denied requests in the last hour, for one reason."""

    client_id: str
    """Client identifier; empty if a message was dropped before it was assigned to a receiver."""
    username: str | None
    reason: str
    topic: str | None
    """The latest topic or filter that was affected."""
    count: Count
    rule: str | None = None
    """Access rule that would allow a denied PUBLISH or SUBSCRIBE."""


class SharedClientId(Reported):
    """A client identifier used by two devices, which keep disconnecting each other."""

    client_id: str
    addresses: list[str]
    """Addresses of the connection that was closed last and of the connection that replaced it."""
    count: Count
    """Number of takeovers within the last hour."""


class Messages(Reported):
    received: CountPerQos
    """PUBLISH packets from clients, since the broker started."""
    sent: CountPerQos
    """PUBLISH packets to clients, since the broker started."""
    dropped: dict[str, Count]
    """Messages not delivered to a session, by reason."""
    dropped_last_hour: Annotated[list[RecentCount], Field(default_factory=list)]
    """Messages dropped in the last hour, by client and reason: the 20 largest counts."""
    duplicates_suppressed: Count
    """QoS 2 PUBLISH packets that were repeated before PUBREL and not published again."""


class Queued(Reported):
    messages: Count
    bytes: Count
    memory_bytes: Count = 0
    """Memory used by the queues of clean sessions."""
    memory_limit_bytes: Count = 0
    slowing: Count = 0
    """Sessions whose full queues slow down publishers."""
    filling: Count = 0
    """Sessions whose queues are at least 80 % full but do not slow down publishers."""


class CommitHistogram(Reported):
    """Histogram of the durations of all commits since the broker started."""

    bounds_ms: list[FiniteNumber]
    """Upper bounds of the buckets, in ascending order."""
    counts: list[Count]
    """Commits in each bucket, and commits above the last bound."""


class Journal(Reported):
    batches: Count
    """Transactions since the broker started, each with one fsync."""
    facts: Count
    first_sequence: Count
    last_sequence: Count
    """Sequence number of the newest event."""
    exported_sequence: Count
    """Sequence number of the last event in a sealed segment of the session log."""
    bytes: Count
    commit_ms_mean: Annotated[float, Field(ge=0)]
    """Average duration of a commit."""
    commit_ms_max: Annotated[float, Field(ge=0)]
    """Longest commit since the broker started."""
    commit_ms_max_last_hour: Annotated[float, Field(ge=0)] = 0.0
    commit_histogram: CommitHistogram | None = None


class Store(Reported):
    recovery: str
    """State of the database when the broker started: new, clean, unclean or salvaged."""
    detail: str | None


class Disk(Reported):
    """The file system that contains the data directory."""

    total_bytes: Count
    free_bytes: Count
    free_min: Count
    """Number of free bytes below which the broker accepts nothing new."""
    full: bool
    """True if the broker accepts nothing new."""
    full_since_ms: Milliseconds | None
    waits: bool
    """True if received messages cannot be written and are therefore not acknowledged."""
    reserve: bool
    """True if the reserve file exists, whose space is used when the disk is full."""
    removed: dict[str, Count]
    """Files removed for lack of space, by kind."""


class BrokerWarning(Reported):
    """A warning from the broker about the current state or the last hour."""

    id: str
    """Kind of the warning: `queue_filling`, `messages_dropped`, ..."""
    subject: str
    """The client, file or component that the warning is about; may be empty."""
    sentence: str
    fix: str


class BrokerStatus(Reported):
    """The broker's status, including its sessions, messages, journal, disk and listeners."""

    gateway: str
    """Identifier of the gateway."""
    boot: str
    """16 hexadecimal digits, new at each start of the broker."""
    version: str
    compiled: bool
    """True if the protocol core runs as compiled code."""
    pid: Count
    state: str
    time_ms: Milliseconds
    """Time of the response by the broker's clock, in milliseconds since 1970-01-01 UTC."""
    clock: str
    """Quality of `time_ms`: `synchronised`, `unsynchronised` or `unknown`.

    Times in reports of other processes have the quality of the gateway's clock at that time.
    """
    started_ms: Milliseconds
    """Time that is `uptime_seconds` before `time_ms`; it changes when the clock is set."""
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
    """Messages that wait for a disconnected or busy client."""
    inflight: Count
    """QoS 1 and 2 messages that were sent but not yet acknowledged."""
    awaiting_release: Count
    """QoS 2 messages received, whose PUBREL has not arrived yet."""
    errors: dict[str, Count]
    """Errors of clients, by kind."""
    shared_client_ids_last_hour: Annotated[list[SharedClientId], Field(default_factory=list)]
    denied_last_hour: Annotated[list[RecentCount], Field(default_factory=list)]
    """Requests denied by access rules within the last hour, by client and kind: the 20 largest."""
    journal: Journal
    disk: Disk | None
    store: Store
    operations: Annotated[dict[str, Count], Field(default_factory=dict)]
    """Commands from the page since the broker started; `refused` counts those not executed."""
    warnings: list[BrokerWarning]

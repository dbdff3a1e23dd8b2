"""Lists of sessions, and a session with its subscriptions and messages."""

from api.models.values import Count, Milliseconds, Reported


class _SessionFacts(Reported):
    client_id: str
    session: Count
    """A client that starts a new session gets a new number."""
    connected: bool
    clean: bool
    """True if the session ends with its connection."""
    protocol: int
    """Protocol level: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5.0."""
    username: str | None
    """None: the client named no user."""
    listener: str | None
    """The listener of its last connection; null since a start until it is back."""
    tls: bool | None
    """True if its connection is encrypted by the broker; null: not connected."""
    address: str | None
    connected_since_ms: Milliseconds | None
    last_seen_ms: Milliseconds | None
    """When its last packet came, or its connection ended; null: unknown."""
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


class SessionPage(Reported):
    """A page of sessions."""

    sessions: list[Session]
    next: str | None
    """Give this as `after` to get the next page; null on the last one."""


class Subscription(Reported):
    filter: str
    qos: Count


class InflightMessage(Reported):
    packet_id: Count
    message: Count
    qos: Count
    state: str


class SessionDetail(_SessionFacts):
    denials: Count
    """Times that access rules denied what its client did."""
    subscriptions: list[Subscription]
    """At most 1,000."""
    inflight: list[InflightMessage]
    """At most 1,000."""

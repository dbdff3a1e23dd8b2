"""Lists of sessions, and one session with its subscriptions and messages."""

from api.models.values import Count, Milliseconds, Reported


class _SessionFacts(Reported):
    client_id: str
    session: Count
    """Number of the session; a client that starts a new session gets a new number."""
    connected: bool
    clean: bool
    """True if the session ends with its connection."""
    protocol: int
    """Protocol level: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5.0."""
    username: str | None
    """User name of the client; null if the client gave none."""
    listener: str | None
    """Listener of the last connection; null until the client connects after a broker restart."""
    tls: bool | None
    """True if the broker encrypts the connection; null if the client is not connected."""
    address: str | None
    connected_since_ms: Milliseconds | None
    last_seen_ms: Milliseconds | None
    """Time at which the last packet arrived or the connection ended; null if unknown."""
    keep_alive_seconds: Count
    """Keep Alive interval of the client; 0 if it is turned off."""
    subscription_count: Count
    awaiting_release: Count
    queued_messages: Count
    queued_bytes: Count
    dropped_messages: Count
    """Messages that were not delivered because the queue was full or they expired."""
    received_messages: Count
    delivered_messages: Count


class Session(_SessionFacts):
    inflight: Count
    """QoS 1 and 2 messages that were sent but not yet acknowledged."""


class SessionPage(Reported):
    """A page of sessions."""

    sessions: list[Session]
    next: str | None
    """Send this value as `after` to get the next page; null on the last page."""


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
    """Number of the client's requests that access rules denied."""
    subscriptions: list[Subscription]
    """Subscriptions of the session, at most 1,000."""
    inflight: list[InflightMessage]
    """Messages that are being delivered, at most 1,000."""

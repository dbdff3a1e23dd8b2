"""Events for an observer: a closed set of plain values, one class for each kind of event.

They are created only if there is an observer. Client identifiers, topics and payloads are unchanged
from the packet. They give no access to the core's state.
"""


class Connected:
    """A client connected: its CONNECT was accepted."""

    def __init__(
        self,
        client_id: str,
        address: str,
        protocol: int,
        username: str | None,
        keep_alive_seconds: int,
        session_present: bool,
    ) -> None:
        self.client_id = client_id
        self.address = address
        self.protocol = protocol
        """The protocol level: 3 (MQTT 3.1), 4 (3.1.1) or 5 (5.0)."""
        self.username = username
        self.keep_alive_seconds = keep_alive_seconds
        self.session_present = session_present
        """True if the client resumed a session."""


class Disconnected:
    """A client sent DISCONNECT."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id


class Lost:
    """A connection ended without DISCONNECT."""

    def __init__(self, client_id: str, reason: str) -> None:
        self.client_id = client_id
        self.reason = reason
        """`network`, `keep_alive`, `takeover`, `protocol_error`, `kicked`, `slow`, `shutdown`."""


class Subscribed:
    """A subscription was added or replaced."""

    def __init__(self, client_id: str, topic_filter: str, qos: int) -> None:
        self.client_id = client_id
        self.topic_filter = topic_filter
        self.qos = qos


class Unsubscribed:
    """A client unsubscribed.

    When a session ends, its subscriptions are not reported individually.
    """

    def __init__(self, client_id: str, topic_filter: str) -> None:
        self.client_id = client_id
        self.topic_filter = topic_filter


class Published:
    """A message was forwarded to its subscribers, at QoS 2 on PUBREL. Includes wills."""

    def __init__(
        self, client_id: str, topic: str, payload: bytes, qos: int, retain: bool, is_will: bool
    ) -> None:
        self.client_id = client_id
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.is_will = is_will


class Delivered:
    """A message reached one client: sent at QoS 0, acknowledged at QoS 1 and 2."""

    def __init__(self, client_id: str, topic: str | None, qos: int) -> None:
        self.client_id = client_id
        self.topic = topic
        """None: it was in flight before the last restart, and its topic was not loaded."""
        self.qos = qos


class Dropped:
    """A message will not reach a client (with `no_member` and `await_rel_timeout`: any client)."""

    def __init__(self, client_id: str, topic: str | None, reason: str) -> None:
        self.client_id = client_id
        """Empty if no client was chosen."""
        self.topic = topic
        """None: the message is not in memory."""
        self.reason = reason
        """As in `messages.dropped` of the status."""


Event = (
    Connected | Disconnected | Lost | Subscribed | Unsubscribed | Published | Delivered | Dropped
)

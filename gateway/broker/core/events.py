"""Events for an observer, such as an operator's hook module, with one class for each type of event.

Events are created only if there is an observer. Client identifiers, topics and payloads are exactly
as in the packets. Events give no access to the core's state.
"""


class Connected:
    """Event created when a client has connected and its CONNECT has been accepted."""

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
    """Event created when a client has sent DISCONNECT."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id


class Lost:
    """Event created when a client's connection has ended without DISCONNECT."""

    def __init__(self, client_id: str, reason: str) -> None:
        self.client_id = client_id
        self.reason = reason
        """One of `network`, `keep_alive`, `takeover`, `protocol_error`, `kicked`, `slow`,
        `shutdown`."""


class Subscribed:
    """Event created when a client has added or replaced a subscription."""

    def __init__(self, client_id: str, topic_filter: str, qos: int) -> None:
        self.client_id = client_id
        self.topic_filter = topic_filter
        self.qos = qos


class Unsubscribed:
    """Event created when a client has removed a subscription.

    No event is created for subscriptions that are removed because their session ends.
    """

    def __init__(self, client_id: str, topic_filter: str) -> None:
        self.client_id = client_id
        self.topic_filter = topic_filter


class Published:
    """Event created when a message or will is forwarded to its subscribers.

    A QoS 2 message is forwarded after its PUBREL.
    """

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
    """Event created when a message has been sent at QoS 0, or acknowledged at QoS 1 or 2."""

    def __init__(self, client_id: str, topic: str | None, qos: int) -> None:
        self.client_id = client_id
        self.topic = topic
        """None if the message was in flight before the last restart and its topic was not
        loaded."""
        self.qos = qos


class Dropped:
    """Event created when a message will not reach a client.

    If the reason is `no_member` or `await_rel_timeout`, the message will not reach any client.
    """

    def __init__(self, client_id: str, topic: str | None, reason: str) -> None:
        self.client_id = client_id
        """Empty if no client was chosen."""
        self.topic = topic
        """None if the message is not in memory."""
        self.reason = reason
        """Reason as in `messages.dropped` of the status."""


Event = (
    Connected | Disconnected | Lost | Subscribed | Unsubscribed | Published | Delivered | Dropped
)

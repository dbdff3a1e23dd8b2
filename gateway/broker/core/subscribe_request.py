"""Progress of a SUBSCRIBE that is processed in slices, including the retained messages to send."""

from gateway.broker.core.sessions.message import Message
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.topics.retained_walk import RetainedWalk
from gateway.broker.wire.packets import Subscribe
from gateway.broker.wire.packets import Subscription as WantedSubscription


class Found:
    """A retained message to be added to a persistent session's queue."""

    def __init__(self, subscription: Subscription, message: Message) -> None:
        self.subscription = subscription
        self.message = message


class PendingSubscribe:
    """Progress of a SUBSCRIBE that has not been processed completely.

    If a filter occurs several times in the packet, only its last occurrence is processed.
    """

    def __init__(self, packet: Subscribe) -> None:
        self.packet_id = packet.packet_id
        self.requested = packet.subscriptions
        self.identifier = 0
        if packet.properties is not None and packet.properties.subscription_identifiers:
            self.identifier = packet.properties.subscription_identifiers[0]
        self.last: dict[str, WantedSubscription] = {}
        for requested in packet.subscriptions:
            self.last[requested.topic_filter] = requested
        self.filters = list(self.last)
        self.filters_done = 0
        self.refused: dict[str, str] = {}
        """Rejected filters, with the names of the limits that reject them."""
        self.wants_retained: list[Subscription] = []
        self.walk: RetainedWalk | None = None
        self.walks_done = 0
        """Number of entries in `wants_retained` for which the search for retained messages is
        complete."""
        self.found: list[Found] = []
        self.found_done = 0
        self.answered = False


class PendingReplay:
    """Progress of sending retained messages to one connection."""

    def __init__(self) -> None:
        self.requested: dict[str, Subscription] = {}
        """Subscriptions still to be served, by filter."""
        self.current: Subscription | None = None
        self.walk: RetainedWalk | None = None
        self.found: list[Message] = []
        """Messages found and still to be sent, in reverse order."""
        self.scheduled = False
        """True if a timer will start the next slice."""

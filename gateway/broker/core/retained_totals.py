"""Number and memory of retained messages, for the broker's limits and the users' quotas."""

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.owners import Owners
from gateway.broker.core.sessions.message import Message
from gateway.broker.core.topics.levels import CHILDREN_BYTES, LEVEL_BYTES


class RetainedTotals:
    """Totals of retained messages, and of held messages that will be retained on release.

    A held message is a QoS 2 message that waits for PUBREL. It has already been acknowledged with
    PUBREC, so the broker must be able to retain it on release. Therefore, the broker reserves a
    *place* for it, which counts towards the limits on retained messages.
    """

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self.memory_bytes = 0
        """Memory of the retained messages, without levels of the topic tree."""
        self.size_bytes = 0
        """Size of the topics, payloads and properties of the retained messages."""
        self.places = 0
        """Number of held messages that have a place."""
        self.places_bytes = 0
        """Memory that these messages can take once they are retained, including topic levels."""

    def add(self, message: Message) -> None:
        """Add a newly retained message to the totals."""
        self.memory_bytes += message.retained_bytes()
        self.size_bytes += message.size_bytes()
        self._owners.count_retained(message)

    def remove(self, message: Message) -> None:
        """Subtract a message from the totals, because it is no longer retained."""
        self.memory_bytes -= message.retained_bytes()
        self.size_bytes -= message.size_bytes()
        self._owners.uncount_retained(message)

    def held(self, message: Message) -> None:
        """Count a held message if a place among the retained messages is reserved for it."""
        if message.has_place:
            self._owners.count_retained(message)
            self.places += 1
            self.places_bytes += place_bytes_of(message)

    def released(self, message: Message) -> None:
        """Free the place, if any, that was reserved for a message that is no longer held."""
        if message.has_place:
            self._owners.uncount_retained(message)
            self.places -= 1
            self.places_bytes -= place_bytes_of(message)


def place_bytes_of(message: Message) -> int:
    """Return the maximum memory in bytes that a held message can take once it is retained."""
    levels_bytes = LEVEL_BYTES * (message.topic.count("/") + 1) + text_bytes_of(message.topic)
    return message.retained_bytes() + levels_bytes + CHILDREN_BYTES

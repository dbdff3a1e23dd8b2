"""A subscription of a session (MQTT 5.0 sections 4.7 and 4.8)."""

from typing import Final
from zlib import crc32

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.message import KEY_SHIFT, RETAIN, SHARED, SINGLE_SUBSCRIPTION
from gateway.broker.wire.topics import is_shared_filter, validate_shared_filter

SUBSCRIPTION_BYTES: Final = 1_024
"""Memory of a subscription in addition to its filter and topic levels, in bytes: the object and its
entries in its session and level, with their dictionaries. Measured with the compiled core: 700 for
the only one of its level, 930 for the only one of a group."""


class Subscription:
    """A topic filter to which a session has subscribed, with the options from the SUBSCRIBE."""

    def __init__(self, topic_filter: str, options: int, identifier: int) -> None:
        self.topic_filter = topic_filter
        self.options = options
        """The options byte as in the standard (5.0 section 3.8.3.1)."""
        self.qos = options & 3
        self.no_local = options & 4 != 0
        self.retain_as_published = options & 8 != 0
        self.retain_handling = options >> 4 & 3
        self.identifier = identifier
        """The subscription identifier of MQTT 5.0, or 0 for none."""
        self.is_shared = names_group(topic_filter)
        self.key = crc32(topic_filter.encode())
        """A 32-bit key stored with deliveries that came only through this subscription."""
        self.group = ""
        """Key of the group in `TopicTree`, for a shared subscription."""

    def delivery_flags(self, qos: int, retain: bool) -> int:
        """Return the flags of a delivery that is made only because of this subscription."""
        flags = qos | (RETAIN if retain else 0) | (SHARED if self.is_shared else 0)
        return flags | SINGLE_SUBSCRIPTION | self.key << KEY_SHIFT


def names_group(topic_filter: str) -> bool:
    """Return True if a topic filter is a valid shared subscription, `$share/NAME/FILTER`.

    Only the filter is examined. If the result is False for a filter that begins with `$share/`, the
    caller must consider the client's protocol version. MQTT 5.0 requires that the filter is refused
    (section 4.8.2). In older versions it is an ordinary filter.
    """
    return is_shared_filter(topic_filter) and validate_shared_filter(topic_filter) is None


def own_bytes_of(topic_filter: str) -> int:
    """Return the memory size of a subscription without its topic levels, in bytes."""
    return SUBSCRIPTION_BYTES + text_bytes_of(topic_filter)


def split_shared(topic_filter: str) -> tuple[str, str]:
    """Split a shared subscription `$share/NAME/FILTER` into its group name and its filter.

    Any other filter is returned unchanged, with an empty group name.
    """
    if not names_group(topic_filter):
        return "", topic_filter
    _, name, rest = topic_filter.split("/", 2)
    return name, rest

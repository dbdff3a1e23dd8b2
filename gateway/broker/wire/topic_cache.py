"""Cache of validated topics, keyed by their encoded bytes.

Sensors publish to the same topics again and again. Decoding and checking a topic costs more than
the rest of a small PUBLISH. Therefore, the process caches a limited number of topics. When the
cache is full, it is cleared. This is cheap, because each topic is cached again with its next
message.
"""

from typing import Final

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR
from gateway.broker.wire.limits import (
    TOPIC_CACHE_BYTES_MAX,
    TOPIC_CACHE_COUNT_MAX,
    TOPIC_CACHE_FIELD_BYTES_MAX,
)
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.reading import text_of
from gateway.broker.wire.topics import has_control_character, validate_topic_name


class TopicCache:
    """Cache of topics. `known` maps an encoded topic (length u16, UTF-8) to the topic as a string.

    Other modules must not change `known`.
    """

    def __init__(self) -> None:
        self.known: dict[bytes, str] = {}
        self.size_bytes = 0

    def learn(self, field: bytes, allows_control_characters: bool) -> str:
        """Decode, check and cache an encoded topic that is not in the cache yet.

        Topics with control characters are never cached, because some connections do not allow them.
        Topics longer than TOPIC_CACHE_FIELD_BYTES_MAX are not cached either. Raises Malformed if
        the topic is invalid or contains control characters that are not allowed.
        """
        topic = text_of(field[2:], "topic name of PUBLISH")
        error = validate_topic_name(topic)
        if error is not None:
            raise Malformed(wrong.TOPIC_NAME, f"PUBLISH: {error}", PROTOCOL_ERROR)
        if has_control_character(topic):
            if not allows_control_characters:
                raise Malformed(
                    wrong.CONTROL_CHARACTER,
                    "the topic name of PUBLISH contains a control character: expected none of "
                    "U+0001 to U+001F and U+007F to U+009F",
                )
        elif len(field) <= TOPIC_CACHE_FIELD_BYTES_MAX:
            self._remember(field, topic)
        return topic

    def _remember(self, field: bytes, topic: str) -> None:
        if (
            len(self.known) >= TOPIC_CACHE_COUNT_MAX
            or self.size_bytes + len(field) > TOPIC_CACHE_BYTES_MAX
        ):
            # Decoders keep a reference to the dict, so it is emptied and not replaced.
            self.known.clear()
            self.size_bytes = 0
        self.known[field] = topic
        self.size_bytes += len(field)


TOPICS: Final = TopicCache()

"""Topics that were checked already, by the bytes they have on the wire.

Sensors publish to the same topics again and again. Decoding and checking one costs more than all
the rest of a small PUBLISH, so the process remembers a bounded number of them; when the bound is
reached it forgets all, which is simple, cheap and not worth a better idea: they are back after
one message each.
"""

from typing import Final

from gateway.wire import malformed as wrong
from gateway.wire.codes import PROTOCOL_ERROR
from gateway.wire.limits import (
    TOPIC_CACHE_BYTES_MAX,
    TOPIC_CACHE_COUNT_MAX,
    TOPIC_CACHE_FIELD_BYTES_MAX,
)
from gateway.wire.malformed import Malformed
from gateway.wire.reading import text_of
from gateway.wire.topics import has_control_character, validate_topic_name


class TopicCache:
    """`known` maps a topic field (length u16, UTF-8) to its text; read it, never write to it."""

    def __init__(self) -> None:
        self.known: dict[bytes, str] = {}
        self.size_bytes = 0

    def learn(self, field: bytes, allows_control_characters: bool) -> str:
        """Return the text of a topic field that is not known yet; raises Malformed.

        What has a control character is never known: it depends on the connection.
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
            # Decoders hold on to the dict itself: empty it, do not replace it.
            self.known.clear()
            self.size_bytes = 0
        self.known[field] = topic
        self.size_bytes += len(field)


TOPICS: Final = TopicCache()

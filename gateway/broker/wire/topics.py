"""Validation and matching of topic names and topic filters.

`matches` compares one filter with one name. To find all subscribers of a topic, the broker searches
a tree instead.
"""

import re
from typing import Final

from gateway.broker.wire.limits import STRING_BYTES_MAX

_CONTROL_CHARACTER: Final = re.compile("[\x01-\x1f\x7f-\x9f]")


def has_control_character(text: str) -> bool:
    """Return True if a string contains a character from U+0001 to U+001F or U+007F to U+009F.

    A server may reject these characters ([MQTT5-1.5.4], not normative, and section 1.5.3 of 3.1.1).
    """
    # Nearly every text is printable, and printable text has no control characters.
    return not text.isprintable() and _CONTROL_CHARACTER.search(text) is not None


def _string_error(text: str, what: str) -> str | None:
    # [MQTT-4.7.3-1] [MQTT5-4.7.3-1]
    if not text:
        return f"the {what} is empty: expected at least one character"
    # [MQTT-4.7.3-2] [MQTT5-4.7.3-2]
    if "\0" in text:
        return f"the {what} contains U+0000: expected text without the null character"
    # [MQTT-4.7.3-3] [MQTT5-4.7.3-3]. A character takes 1 to 4 bytes.
    if len(text) > STRING_BYTES_MAX // 4:
        length_bytes = len(text.encode("utf-8", "surrogatepass"))
        if length_bytes > STRING_BYTES_MAX:
            return f"the {what} has {length_bytes} bytes: expected at most {STRING_BYTES_MAX}"
    return None


def validate_topic_name(topic: str) -> str | None:
    """Return an error message if a topic name in a PUBLISH is invalid, otherwise None."""
    # [MQTT-3.3.2-2] [MQTT-4.7.1-1] [MQTT5-3.3.2-2] [MQTT5-4.7.0-1]
    if "+" in topic or "#" in topic:
        return "the topic name contains a wildcard: expected no '+' and no '#'"
    return _string_error(topic, "topic name")


def validate_topic_filter(topic_filter: str) -> str | None:
    """Return an error message if a topic filter is invalid, otherwise None."""
    error = _string_error(topic_filter, "topic filter")
    if error is not None:
        return error
    if "#" in topic_filter:
        # [MQTT-4.7.1-2] [MQTT5-4.7.1-1]
        first = topic_filter.index("#")
        if first != len(topic_filter) - 1 or (first > 0 and topic_filter[first - 1] != "/"):
            return "'#' does not stand alone in the last level of the topic filter: expected 'a/#'"
    if "+" in topic_filter:
        # [MQTT-4.7.1-3] [MQTT5-4.7.1-2]
        for level in topic_filter.split("/"):
            if "+" in level and level != "+":
                return "'+' does not fill a level of the topic filter: expected 'a/+/b'"
    return None


def is_shared_filter(topic_filter: str) -> bool:
    """Return True if a filter begins with `$share/`, the prefix of shared filters in MQTT 5.0."""
    return topic_filter.startswith("$share/")


def validate_shared_filter(topic_filter: str) -> str | None:
    """Return an error message if a shared filter of MQTT 5.0 is invalid, otherwise None.

    A shared filter has the form ``$share/NAME/FILTER``.
    """
    parts = topic_filter.split("/", 2)
    # [MQTT5-4.8.2-1]
    if len(parts) < 3 or not parts[1]:
        return "the shared subscription lacks a name or a filter: expected '$share/NAME/FILTER'"
    # [MQTT5-4.8.2-2]
    if "+" in parts[1] or "#" in parts[1]:
        return "the share name contains a wildcard: expected a name without '+' and '#'"
    return validate_topic_filter(parts[2])


def matches(topic_filter: str, topic: str) -> bool:
    """Return True if a valid filter matches a valid topic name.

    For a shared subscription, `topic_filter` is the filter without `$share/NAME/`.
    """
    if topic_filter == topic:
        return True
    # [MQTT-4.7.2-1] [MQTT5-4.7.2-1]
    if topic.startswith("$") and topic_filter[:1] != "$":
        return False
    filter_levels = topic_filter.split("/")
    topic_levels = topic.split("/")
    index = 0
    for level in filter_levels:
        if level == "#":
            # '#' also matches the level above it: a/# matches a
            return True
        if index >= len(topic_levels):
            return False
        if level != "+" and level != topic_levels[index]:
            return False
        index += 1
    return index == len(topic_levels)

"""Creates the topics of readings, and their payloads in all formats except SenML.

In these formats, each value has its own payload: either the plain value, or a JSON object built
from a template. If a quantity has several values, such as the fields of an NMEA 0183 sentence,
each value is published under its own name (`gga/alt`).
"""

import base64
import json
import re
from collections.abc import Mapping

from firmware_bridge.readings.measurement import Value
from gateway.process.declarations.readings import PLACEHOLDER

Values = Mapping[str, object]
"""The value of each placeholder, keyed by the placeholder's name."""


def topic_of(pattern: str, values: Values) -> str:
    """Return the topic `pattern` with each placeholder replaced by its value."""
    return PLACEHOLDER.sub(lambda found: str(values[found[1]]), pattern)


def plain_of(value: Value) -> bytes:
    """Encode a value as plain text. Bytes are returned unchanged."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value, allow_nan=False).encode()


def json_of(template: Mapping[str, object], values: Values) -> bytes:
    """Replace each placeholder in `template` by its value, and encode the result as JSON."""
    return json.dumps(_filled(template, values), separators=(",", ":"), allow_nan=False).encode()


def _filled(part: object, values: Values) -> object:
    if isinstance(part, Mapping):
        return {key: _filled(each, values) for key, each in part.items()}
    if isinstance(part, list):
        return [_filled(each, values) for each in part]
    if not isinstance(part, str):
        return part
    alone = PLACEHOLDER.fullmatch(part)
    if alone is not None:
        # A number remains a number, and a missing value becomes null.
        return _json_value_of(values[alone[1]])
    return re.sub(PLACEHOLDER, lambda found: _text_of(values[found[1]]), part)


def _json_value_of(value: object) -> object:
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
    return value


def _text_of(value: object) -> str:
    shown = _json_value_of(value)
    if isinstance(shown, str):
        return shown
    return "" if shown is None else json.dumps(shown, allow_nan=False)

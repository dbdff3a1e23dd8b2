"""Topics and payloads other than SenML: the plain value, and JSON by a template.

They have one payload a value; where a quantity has several (a sentence of NMEA 0183), the name of
each is the quantity: `gga/alt`.
"""

import base64
import json
import re
from collections.abc import Mapping

from firmware_bridge.readings.measurement import Value
from gateway.process.declarations.readings import PLACEHOLDER

Values = Mapping[str, object]
"""Value of each placeholder."""


def topic_of(pattern: str, values: Values) -> str:
    """Return the topic of a pattern."""
    return PLACEHOLDER.sub(lambda found: str(values[found[1]]), pattern)


def plain_of(value: Value) -> bytes:
    """Return a value as people write it; bytes as they are."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value, allow_nan=False).encode()


def json_of(template: Mapping[str, object], values: Values) -> bytes:
    """Return the template with its placeholders filled in."""
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
        # A number stays a number, and what is not there is null.
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

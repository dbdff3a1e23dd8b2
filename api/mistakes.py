"""Human-readable sentences about invalid values, with the field and the expected value.

Pydantic finds the invalid values. Its own messages, such as "String should match pattern", are for
programmers and are never shown. A sentence does not contain the invalid value, because the value
could be a password.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

PLACE_CHARACTERS_MAX: Final = 64
"""Maximum length of each part of a field's name that is shown, because callers choose the names."""

TOKEN_NAME: Final = r"^[A-Za-z0-9._-]+$"  # noqa: S105 - a pattern, not a token
_EVENT_NAME: Final = "^[a-z][a-z0-9_]{0,63}$"
_EXPECTED_BY_PATTERN: Final = {
    TOKEN_NAME: "letters, digits, dots, dashes and underscores, without spaces",
    _EVENT_NAME: "lowercase letters, digits and underscores",
}

LABELS: Final[Mapping[str, str]] = {
    "after": "The page's address",
    "client_id": "Client id",
    "ethernet": "Ethernet",
    "ethernet_address": "Fixed address",
    "ethernet_dns": "Name servers",
    "ethernet_gateway": "Router",
    "ethernet_interface": "Adapter",
    "hostname": "Name",
    "kind": "What",
    "name": "Name",
    "own_password": "Your own password",
    "password": "Password",
    "payload": "Payload",
    "port": "Port",
    "qos": "QoS",
    "reason": "Reason",
    "retain": "Retain",
    "seconds": "How long",
    "source": "Address of the bundle",
    "table": "Settings",
    "token_role": "Role",
    "topic": "Topic",
    "user": "User",
    "value": "Client id, user name, or address",
    "wifi": "Wi-Fi",
    "wifi_country": "Country",
    "wifi_hidden": "The network broadcasts its name",
    "wifi_password": "Password of the network",
    "wifi_ssid": "Network",
}
"""Labels of the form fields on the pages, keyed by field name."""

_PLACES: Final = ("body", "cookie", "header", "path", "query")
"""First parts of FastAPI's field names. They are not shown."""

_NUMBER_TYPES: Final = ("int_type", "int_parsing", "int_from_float", "int_parsing_size")
_PHRASES: Final[Mapping[str, str]] = {
    "missing": " is missing",
    "extra_forbidden": " is not a field here",
    "string_type": ": expected text",
    "string_unicode": ": expected text in UTF-8",
    "bool_type": ": expected true or false",
    "bool_parsing": ": expected true or false",
    "float_type": ": expected a number",
    "float_parsing": ": expected a number",
    "finite_number": ": expected a finite number",
    "list_type": ": expected a list",
    "dict_type": ": expected a JSON object",
    "model_type": ": expected a JSON object",
    "model_attributes_type": ": expected a JSON object",
    **dict.fromkeys(_NUMBER_TYPES, ": expected a whole number"),
}
_LIMITS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "string_too_short": lambda limit: (
        " is empty"
        if limit["min_length"] == 1
        else f": expected at least {limit['min_length']:,} characters"
    ),
    "string_too_long": lambda limit: f": expected at most {limit['max_length']:,} characters",
    "too_long": lambda limit: f": expected at most {limit['max_length']:,} entries",
    "greater_than": lambda limit: f": expected more than {limit['gt']:,}",
    "greater_than_equal": lambda limit: f": expected {limit['ge']:,} or more",
    "less_than": lambda limit: f": expected less than {limit['lt']:,}",
    "less_than_equal": lambda limit: f": expected at most {limit['le']:,}",
    "literal_error": lambda limit: f": expected {limit['expected']}",
    "enum": lambda limit: f": expected {limit['expected']}",
    "json_invalid": lambda limit: f" is not valid JSON: {limit['error']}",
    "string_pattern_mismatch": lambda limit: (
        f": expected {_EXPECTED_BY_PATTERN.get(limit['pattern'], 'another form')}"
    ),
    "value_error": lambda limit: f": {limit['error']}",
}


def sentence_of(error: ValidationError, labels: Mapping[str, str] | None = None) -> str:
    """Return a sentence about the first invalid value that a model found, without a full stop.

    If `labels` is given, the sentence names the field by its label on the form.
    """
    fault = error.errors(include_url=False, include_input=False)[0]
    return sentence_of_fault(fault, labels or {})


def sentence_of_fault(fault: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return a sentence about one of Pydantic's error dictionaries, without a full stop.

    The sentence names the field by its label in `labels`. If there is no label, it uses the field's
    name.
    """
    place = _place_of(fault["loc"])
    return f"{labels.get(place, place) or 'The body'}{_phrase_of(fault)}"


def _phrase_of(fault: Mapping[str, Any]) -> str:
    kind = str(fault.get("type", ""))
    if kind in _PHRASES:
        return _PHRASES[kind]
    if kind in _LIMITS:
        return _LIMITS[kind](fault["ctx"])
    # A message of our own has no type. Other kinds have no words here, and no model uses them.
    return f" {fault['msg']}" if not kind else " is not valid"


def _place_of(location: Sequence[object]) -> str:
    parts = location[1:] if location and location[0] in _PLACES else location
    if len(parts) == 1 and isinstance(parts[0], int):
        return ""  # the position at which JSON cannot be parsed
    return ".".join(str(part)[:PLACE_CHARACTERS_MAX] for part in parts)

"""Parser for one line of a segment, which must be a JSON object with the fields of an event."""

from __future__ import annotations

import json
from typing import Final

from cloud_jobs.limits import TIME_MILLISECONDS_MAX
from cloud_jobs.tables.event_fields import EVENT_FIELDS, KNOWN_EVENTS, FieldType

_INTEGER_MAX: Final = 2**63 - 1
_INTEGER_MIN: Final = -(2**63)
_OWN_FIELDS: Final = frozenset({"sequence", "time", "event"})


class BadLineError(ValueError):
    """Error that is raised if a line is not a valid event.

    `reason` is the category of the error, and the message explains it.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _has_type(value: object, field_type: FieldType) -> bool:
    if field_type == "integer":
        return type(value) is int and _INTEGER_MIN <= value <= _INTEGER_MAX
    return type(value) is (str if field_type == "string" else bool)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def object_of_line(line: bytes) -> dict[str, object]:
    """Parse the JSON object in one line.

    Raises:
        BadLineError: the line is not UTF-8, or not a JSON object.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadLineError("not_utf8", f"byte {error.start} of the line is not UTF-8") from error
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:
            # A lone surrogate is not a valid character and could not be written to a table
            # unchanged.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadLineError("not_json", f"the line is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadLineError("not_an_object", f"the line is a JSON {type(value).__name__}")
    return value


def check_event(event: dict[str, object]) -> None:
    """Check that the known fields of an event have the right types.

    Raises BadLineError if a field has another type.
    """
    if not _has_type(event.get("sequence"), "integer"):
        raise BadLineError("bad_field", "`sequence` is not an integer")
    time = event.get("time")
    if type(time) is not int or not 0 <= time <= TIME_MILLISECONDS_MAX:
        raise BadLineError("bad_field", "`time` is no count of milliseconds before the year 10000")
    if type(event.get("event")) is not str:
        raise BadLineError("bad_field", "`event` is not a string")
    if event["event"] not in KNOWN_EVENTS:
        return
    for name, value in event.items():
        field_type = EVENT_FIELDS.get(name)
        if field_type and value is not None and not _has_type(value, field_type):
            raise BadLineError("bad_field", f"`{name}` of {event['event']} is not a {field_type}")


def columns_of_event(event: dict[str, object]) -> tuple[dict[str, object], str | None]:
    """Return an event's fields that have a column, and its other fields as JSON.

    The JSON is None if there are no other fields. It also contains fields with the wrong type for
    their column, because newer kinds of events may have fields of other types.
    """
    columns: dict[str, object] = {}
    extra: dict[str, object] = {}
    for name, value in event.items():
        field_type = EVENT_FIELDS.get(name)
        if name in _OWN_FIELDS or (field_type and (value is None or _has_type(value, field_type))):
            columns[name] = value
        else:
            extra[name] = value
    return columns, json.dumps(extra, sort_keys=True) if extra else None

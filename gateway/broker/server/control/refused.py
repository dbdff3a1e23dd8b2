"""Refusal of requests, and parsing of common arguments."""

from collections.abc import Mapping
from typing import Any


class Refused(Exception):
    """A request cannot be answered. Has a code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def text_of(request: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a text argument.

    Raises:
        Refused: it is not a text, or it is missing and has no default.
    """
    value = request.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Refused("bad_request", f"'{key}' has to be a string")
    return value

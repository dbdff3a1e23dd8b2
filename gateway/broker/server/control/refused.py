"""The exception for refused requests, and a function that reads a request's string arguments."""

from collections.abc import Mapping
from typing import Any


class Refused(Exception):
    """Error raised if a request on a control socket cannot be answered.

    The error contains a code and a message.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def text_of(request: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a string argument of a request.

    Raises:
        Refused: the argument is not a string, or is missing and has no default.
    """
    value = request.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Refused("bad_request", f"'{key}' has to be a string")
    return value

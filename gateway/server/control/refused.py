"""Why a request is refused, and the arguments that every command reads alike."""

from collections.abc import Mapping
from typing import Any


class Refused(Exception):
    """A request that cannot be answered: its code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def text_of(request: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return an argument that is a string.

    Raises:
        Refused: it is not, or it is missing and has no default.
    """
    value = request.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Refused("bad_request", f"'{key}' has to be a string")
    return value

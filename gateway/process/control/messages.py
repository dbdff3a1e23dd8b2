"""Requests and answers of the control sockets, as one line of JSON each. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from gateway.process.control.received_json import value_of_json

Request = Mapping[str, object]
"""`{"command": "status"}` with the command's arguments."""

LINE_BYTES_MAX = 1 << 20
"""Longest line in either direction."""


class UnusableAnswer(Exception):
    """The answer does not follow the protocol."""


class Refused(Exception):
    """The broker answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def line_of(request: Request) -> bytes:
    """Encode a request as a line.

    Raises:
        ValueError: the line is longer than `LINE_BYTES_MAX`.
    """
    line = json.dumps(request).encode("ascii") + b"\n"
    if len(line) > LINE_BYTES_MAX:
        raise ValueError(f"{request['command']}: the request is longer than {LINE_BYTES_MAX} bytes")
    return line


def result_of(line: bytes) -> dict[str, Any]:
    """Return the result in an answer.

    Raises:
        Refused: the broker answered with an error.
        UnusableAnswer: the line does not follow the protocol.
    """
    try:
        answer = value_of_json(line)
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer("it is not JSON") from error
    match answer:
        case {"ok": True, "result": dict(result)}:
            return result
        case {"ok": False, "error": {"code": str(code), "message": str(message)}}:
            raise Refused(code, message)
    raise UnusableAnswer("it has neither a result nor an error")

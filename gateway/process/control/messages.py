"""Encodes requests to the control sockets and parses responses. Each message is a line of JSON."""

import json
from collections.abc import Mapping
from typing import Any

from gateway.process.control.received_json import value_of_json

Request = Mapping[str, object]
"""A request, such as `{"command": "status"}`, with the command's arguments as further keys."""

LINE_BYTES_MAX = 1 << 20
"""Longest request or response, in bytes."""


class UnusableAnswer(Exception):
    """Error raised if a response does not follow the protocol of the control sockets."""


class Refused(Exception):
    """Error raised if the broker refused a request.

    `code` is the error code for programs, and `message` is an explanation for a person.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def line_of(request: Request) -> bytes:
    """Return a request encoded as one line of JSON.

    Raises:
        ValueError: if the line is longer than `LINE_BYTES_MAX`.
    """
    line = json.dumps(request).encode("ascii") + b"\n"
    if len(line) > LINE_BYTES_MAX:
        raise ValueError(f"{request['command']}: the request is longer than {LINE_BYTES_MAX} bytes")
    return line


def result_of(line: bytes) -> dict[str, Any]:
    """Parse the line of a response, and return the result that it contains.

    Raises:
        Refused: if the broker responded with an error.
        UnusableAnswer: if the line does not follow the protocol.
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

"""Lines of the control sockets in both directions."""

import json

import pytest

from gateway.process.control.messages import (
    LINE_BYTES_MAX,
    Refused,
    UnusableAnswer,
    line_of,
    result_of,
)


def test_a_request_is_one_line_of_ascii() -> None:
    line = line_of({"command": "session", "client_id": "Müller\nx"})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.isascii()
    assert json.loads(line) == {"command": "session", "client_id": "Müller\nx"}


def test_a_request_that_is_too_long_is_refused() -> None:
    line_of({"command": "report", "status": "x" * (LINE_BYTES_MAX - 100)})
    with pytest.raises(ValueError, match=f"report: the request is longer than {LINE_BYTES_MAX}"):
        line_of({"command": "report", "status": "x" * LINE_BYTES_MAX})


def test_a_result_is_returned_and_a_refusal_raised() -> None:
    assert result_of(b'{"ok": true, "result": {"boot": "a"}}\n') == {"boot": "a"}
    with pytest.raises(Refused) as refused:
        result_of(b'{"ok": false, "error": {"code": "not_found", "message": "no such client"}}\n')
    assert (refused.value.code, refused.value.message) == ("not_found", "no such client")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\xff\n",
        b"{}\n",
        b"[]\n",
        b'{"ok": true}\n',
        b'{"ok": true, "result": 1}\n',
        b'{"ok": 1, "result": {}, "error": {}}\n',
        b'{"ok": false, "error": "no"}\n',
        b'{"ok": false, "error": {"code": 1, "message": "no"}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_answer_of_the_contract_is_called_that(line: bytes) -> None:
    with pytest.raises(UnusableAnswer):
        result_of(line)

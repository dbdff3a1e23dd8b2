"""String arguments of requests."""

import pytest

from gateway.broker.server.control.refused import Refused, text_of


def test_a_text_is_returned_or_its_default() -> None:
    assert text_of({"name": "a"}, "name") == "a"
    assert text_of({"name": None}, "name", "b") == "b"
    assert text_of({}, "name", "b") == "b"


@pytest.mark.parametrize("request_", [{}, {"name": 7}, {"name": None}, {"name": ["a"]}])
def test_anything_else_is_refused(request_: dict[str, object]) -> None:
    with pytest.raises(Refused, match="'name' has to be a string") as refused:
        text_of(request_, "name")
    assert refused.value.code == "bad_request"

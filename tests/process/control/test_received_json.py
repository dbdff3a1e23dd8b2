"""JSON with values from sensors: one odd value does not make the whole line unreadable."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.process.control.received_json import value_of_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_what_json_can_express_is_read_as_it_was_written(value: object) -> None:
    assert value_of_json(json.dumps(value).encode()) == value
    assert value_of_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (rb'"a\ud800b"', "a\ufffdb"),
        (rb'"\uDC00"', "\ufffd"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'{"\udfff": ["\ud800", {"a": "\udc01"}]}', {"\ufffd": ["\ufffd", {"a": "\ufffd"}]}),
        (rb'[1, null, "\ud800", true]', [1, None, "\ufffd", True]),
    ],
)
def test_half_of_a_surrogate_pair_is_read_as_a_replacement(line: bytes, value: object) -> None:
    read = value_of_json(line)
    assert read == value
    json.dumps(read, ensure_ascii=False).encode()


@given(st.text(st.characters(), max_size=30))
def test_no_text_that_was_read_fails_to_be_written(text: str) -> None:
    read = value_of_json(json.dumps({text: [text]}).encode())
    json.dumps(read, ensure_ascii=False).encode()


def test_numbers_that_no_model_can_hold_are_read_nevertheless() -> None:
    assert math.isnan(float(str(value_of_json(b"NaN"))))
    assert value_of_json(b"-Infinity") == -math.inf
    assert value_of_json(str(2**63).encode()) == 2**63
    assert value_of_json(b"9" * 40) == 1e40


def test_a_number_of_more_digits_than_python_converts_is_a_float() -> None:
    assert value_of_json(b"1" * 1_000_000) == math.inf
    assert value_of_json(b"-" + b"1" * 1_000_000) == -math.inf


@pytest.mark.parametrize("line", [b"", b"{", b"\xff", b"[1,]", b"[" * 100_000])
def test_what_is_no_json_is_refused(line: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        value_of_json(line)

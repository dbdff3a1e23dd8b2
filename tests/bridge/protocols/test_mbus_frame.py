"""Frames of M-Bus as EN 13757-2 and the M-Bus documentation define them."""

import contextlib

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_frame import (
    answer_in,
    initialisation,
    is_selected_by,
    request,
    selection,
)
from hypothesis import given
from hypothesis import strategies as st

# The example in the M-Bus documentation (rev. 4.8, 6.3.3): a water meter made by PAD.
ANSWER = bytes.fromhex(
    "681F1F68 0802 72 78563412 2440 01 07 55 00 0000 0313153100 DA023B1301 8B6004371802 18 16"
)
HEADER = ANSWER[7:15]


def test_requests_are_those_of_the_standard() -> None:
    assert initialisation(5) == bytes.fromhex("10 40 05 45 16")
    assert request(5, toggled=True) == bytes.fromhex("10 7B 05 80 16")
    assert request(253, toggled=False) == bytes.fromhex("10 5B FD 58 16")
    assert selection("12345678") == bytes.fromhex("680B0B68 53FD52 78563412 FFFF FF FF B2 16")
    assert selection("12345678244001ff")[7:15] == bytes.fromhex("78563412 2440 01 FF")


@pytest.mark.parametrize(
    ("secondary", "is_it"),
    [
        ("12345678", True),
        ("1234ffff", True),
        ("12345679", False),
        ("1234567824400107", True),
        ("12345678FFFFFFFF", True),
        ("1234567824410107", False),
        ("1234567824400106", False),
    ],
)
def test_an_answer_is_of_the_meter_that_was_selected(secondary: str, is_it: bool) -> None:
    assert is_selected_by(HEADER, secondary) is is_it


def test_an_answer_is_found_after_an_echo_and_an_acknowledgement() -> None:
    content = ANSWER[4:-2]
    assert answer_in(ANSWER) == content
    stream = request(2, toggled=True) + b"\xe5\x68\x00" + ANSWER
    assert [answer_in(stream[:end]) for end in range(len(stream))] == [None] * len(stream)
    assert answer_in(stream) == content


def test_the_echo_of_a_long_request_is_no_answer() -> None:
    assert answer_in(selection("12345678")) is None


def test_an_answer_whose_checksum_is_wrong_is_damage() -> None:
    with pytest.raises(Damaged, match="checksum"):
        answer_in(ANSWER[:-2] + b"\x19\x16")


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(Damaged):
        assert answer_in(data) is None or len(data) > 8

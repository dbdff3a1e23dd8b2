"""Texts in the messages of SML and DLMS meters."""

import pytest
from firmware_bridge.protocols.cosem import text_of


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"ISK", "ISK"),
        (b"RATE2\0\0\0", "RATE2"),
        (b"    1ITR0012345678  ", "1ITR0012345678"),
        (b"ITR\0", "ITR"),
        (b"\0\0", "0000"),
        (b"  ", "2020"),
        (b"\x0a\x01ISK\0\x05", "0a0149534b0005"),
        (b"\xff", "ff"),
    ],
)
def test_a_text_has_nothing_that_fills_it_up_and_other_octets_are_digits(
    octets: bytes, text: str
) -> None:
    assert text_of(octets) == text

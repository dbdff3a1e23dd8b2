"""Encrypted telegrams of M-Bus meters, from the example of the standard."""

import contextlib

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_security import decrypted
from hypothesis import given
from hypothesis import strategies as st

# The example of OMS Vol. 2, annex N.2.1 (EN 13757-3, table P.1): a gas meter made by ELS. It comes
# by radio, where maker and number precede the rest of the header.
KEY = bytes.fromhex("0102030405060708090A0B0C0D0E0F11")
CIPHERTEXT = bytes.fromhex("5923C95AAA26D1B2E7493B013EC4A6F6 D3529B520EDFF0EA6DEFC99D6D69EBF3")
PLAIN = bytes.fromhex("2F2F 0C1427048502 046D32371F15 02FD170000 2F2F2F2F2F2F2F2F2F2F2F2F2F")
HEADER = bytes.fromhex("78563412 9315 33 03 2A 00 2025")


def test_the_example_of_the_standard_is_decrypted() -> None:
    assert decrypted(HEADER, CIPHERTEXT, KEY) == PLAIN
    assert decrypted(HEADER, CIPHERTEXT + b"\x01\x02", KEY) == PLAIN + b"\x01\x02"
    # As the first edition of the standard writes it, without the bits of later editions.
    assert decrypted(HEADER[:-1] + b"\x05", CIPHERTEXT, KEY) == PLAIN


def test_a_telegram_that_is_not_encrypted_stays_as_it_is() -> None:
    for word in ("0000", "0080"):
        assert decrypted(HEADER[:-2] + bytes.fromhex(word), b"\x01", None) == b"\x01"


@pytest.mark.parametrize(
    ("word", "data", "key", "reason"),
    [
        ("2025", CIPHERTEXT, None, "encrypted"),
        ("2007", CIPHERTEXT, KEY, "encrypted"),
        ("2025", CIPHERTEXT, KEY[::-1], "key"),
        ("2025", CIPHERTEXT[:31], KEY, "length"),
        ("0005", CIPHERTEXT, KEY, "length"),
        ("2025", b"", KEY, "length"),
    ],
    ids=["no key", "mode 7", "another key", "truncated", "no blocks", "nothing"],
)
def test_what_cannot_be_decrypted_has_its_reason(
    word: str, data: bytes, key: bytes | None, reason: str
) -> None:
    with pytest.raises(Damaged, match=reason):
        decrypted(HEADER[:-2] + bytes.fromhex(word), data, key)


@given(st.binary(min_size=12, max_size=12), st.binary(max_size=260))
def test_no_bytes_make_it_raise_anything_but_damage(header: bytes, data: bytes) -> None:
    with contextlib.suppress(Damaged):
        assert len(decrypted(header, data, KEY)) == len(data)


def test_a_word_of_ones_is_from_before_encryption() -> None:
    assert decrypted(HEADER[:10] + b"\xff\xff", b"\x01\x13\x05", None) == b"\x01\x13\x05"

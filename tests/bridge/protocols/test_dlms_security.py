"""Ciphered messages of meters, and the keys for them."""

import pytest
from firmware_bridge.protocols.dlms import Dlms
from firmware_bridge.protocols.dlms_security import ciphered_bytes, decrypted, length_at
from firmware_bridge.protocols.frame import Damaged
from pydantic_core import PydanticCustomError

from tests.bridge.protocols.dlms_meter import AUTHENTICATION_KEY, KEY, TITLE, ciphered

# The example of DLMS UA 1000-2: a request with its authentication and encryption.
BODY = bytes.fromhex("30 01234567 411312FF935A47566827C467BC 7D825C3BE4A77C3FCC056B6B")
MESSAGE = b"\xdb\x08" + TITLE + bytes((len(BODY),)) + BODY
PLAIN = bytes.fromhex("C0010000080000010000FF0200")


def test_the_example_of_the_standard_is_decrypted_with_and_without_its_tag() -> None:
    assert decrypted(MESSAGE, KEY, AUTHENTICATION_KEY) == PLAIN
    assert decrypted(MESSAGE, KEY, None) == PLAIN
    assert decrypted(ciphered(b"abc", security=0x20), KEY, AUTHENTICATION_KEY) == b"abc"


@pytest.mark.parametrize(
    ("message", "key", "authentication_key", "reason"),
    [
        (MESSAGE, None, None, "encrypted"),
        (MESSAGE, KEY, KEY, "key"),
        (MESSAGE, AUTHENTICATION_KEY, AUTHENTICATION_KEY, "key"),
        (MESSAGE[:-1] + b"\0", KEY, AUTHENTICATION_KEY, "key"),
        (MESSAGE[:12], KEY, None, "dlms"),
        (ciphered(b"a", security=0xB0), KEY, None, "dlms"),
        (ciphered(b"a", security=0x10), KEY, None, "dlms"),
    ],
)
def test_what_cannot_be_decrypted_has_its_reason(
    message: bytes, key: bytes | None, authentication_key: bytes | None, reason: str
) -> None:
    with pytest.raises(Damaged, match=reason):
        decrypted(message, key, authentication_key)


def test_the_length_of_a_message_is_known_from_its_head() -> None:
    long = ciphered(bytes(300))
    assert ciphered_bytes(long[:13]) == len(long)
    assert ciphered_bytes(long[:11]) is None
    assert ciphered_bytes(b"\xdb") is None
    assert length_at(b"\x81\xf0", 0) == (0xF0, 2)
    for wrong in (b"\xdb\x09", b"\xda\x08"):
        with pytest.raises(Damaged, match="dlms"):
            ciphered_bytes(wrong)


def test_keys_are_read_from_their_files_and_never_shown() -> None:
    files = {"/k": "00010203 04050607 08090A0B 0C0D0E0F", "/a": AUTHENTICATION_KEY.hex()}
    settings = Dlms(key_file="/k", authentication_key_file="/a")
    found = settings.with_secrets(lambda path, _: files[path])
    assert (found.key, found.authentication_key) == (KEY, AUTHENTICATION_KEY)
    assert KEY.hex() not in repr(found)
    assert "d0" not in repr(found)
    with pytest.raises(ValueError, match="/k: use 32 hexadecimal digits"):
        settings.with_secrets(lambda *_: "0001")
    with pytest.raises(PydanticCustomError, match="key_file with authentication_key_file"):
        Dlms(authentication_key_file="/a").check()

"""Keys of meters in files."""

import pytest
from firmware_bridge.protocols.key_files import key_from


@pytest.mark.parametrize(
    "text", ["00010203 04050607 08090A0B 0C0D0E0F", "00:01:02:03-0405060708090a0b0c0d0e0f"]
)
def test_a_key_may_have_separators(text: str) -> None:
    assert key_from("/k", "key_file", lambda path, name: text) == bytes(range(16))


@pytest.mark.parametrize("text", ["", "0001", "0g" * 16, "00" * 17])
def test_another_text_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="/k: use 32 hexadecimal digits"):
        key_from("/k", "key_file", lambda *_: text)

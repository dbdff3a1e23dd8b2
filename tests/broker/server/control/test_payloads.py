"""Previews of payloads."""

import pytest

from gateway.broker.server.control.payloads import PAYLOAD_BYTES_SHOWN, payload_of


@pytest.mark.parametrize(
    ("payload", "text", "binary"),
    [
        (b"", "", None),
        ("21 °C".encode(), "21 °C", None),
        ("°".encode() * 200, "°" * 128, None),
        (b"a" + "°".encode() * 200, "a" + "°" * 127, None),
        (b"\xc2", None, "c2"),
        (b"\xff" * 1000, None, "ff" * 32),
    ],
)
def test_a_text_is_cut_between_characters_and_other_bytes_are_hexadecimal(
    payload: bytes, text: str | None, binary: str | None
) -> None:
    found = payload_of(payload[: PAYLOAD_BYTES_SHOWN + 1], len(payload))
    assert found == {"text": text, "hex": binary, "bytes": len(payload)}

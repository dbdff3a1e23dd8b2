"""The signed bytes, one by one, and signatures that are not valid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.uploader.segments.signature import (
    BadSignature,
    SignedPart,
    Signer,
    is_public_key,
    signer_of,
)
from tests.contract.segments import OTHER_SEED, SEED, public_key_of

PART = SignedPart("gw-1", 12, 4021, 4138, "ab" * 32)


def footer_of(part: SignedPart, seed: bytes = SEED) -> dict[str, object]:
    signer = Signer(seed)
    return {"public_key": signer.public_key, "signature": signer.signature_of(part)}


def test_the_signed_bytes_are_those_of_the_format() -> None:
    signed = "oncegate-session-log-signature-1\ngw-1\n12\n4021\n4138\n" + "ab" * 32 + "\n"
    assert PART.signed_bytes() == signed.encode()


def test_the_key_of_the_standard_s_first_test_vector_has_its_public_key() -> None:
    # RFC 8032, section 7.1, TEST 1
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    expected = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert Signer(seed).public_key == expected


def test_a_signature_holds_for_its_segment_and_names_its_key() -> None:
    assert signer_of(footer_of(PART), PART) == public_key_of(SEED)
    assert signer_of({"count": 1}, PART) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(PART, gateway="gw-2"),
        replace(PART, segment=13),
        replace(PART, first_sequence=4020),
        replace(PART, last_sequence=4139),
        replace(PART, sha256="ac" * 32),
    ],
)
def test_a_signature_holds_for_no_other_segment(other: SignedPart) -> None:
    with pytest.raises(BadSignature, match="is not one of the key"):
        signer_of(footer_of(PART), other)


@pytest.mark.parametrize(
    "change",
    [
        {"public_key": public_key_of(OTHER_SEED)},
        {"public_key": public_key_of(SEED).upper()},
        {"public_key": None},
        {"public_key": 7},
        {"public_key": "ff" * 32},
        {"signature": None},
        {"signature": "00" * 64},
        {"signature": "00" * 63},
        {"signature": ["00" * 64]},
    ],
)
def test_a_changed_field_is_a_bad_signature(change: dict[str, object]) -> None:
    with pytest.raises(BadSignature):
        signer_of(footer_of(PART) | change, PART)


@pytest.mark.parametrize("name", ["public_key", "signature"])
def test_a_field_alone_is_a_bad_signature(name: str) -> None:
    footer = footer_of(PART)
    del footer[name]
    with pytest.raises(BadSignature):
        signer_of(footer, PART)


def test_a_public_key_has_one_form() -> None:
    key = public_key_of(SEED)
    assert is_public_key(key)
    for wrong in (key.upper(), key[:-1], f"{key}0", f"{key}\n", ""):
        assert not is_public_key(wrong)

"""The CBOR items that a pack may contain, checked before values are built from them."""

import pytest
from firmware_bridge.protocols.cbor_shape import DEPTH_MAX, EXPONENT_MAX, check_shape
from firmware_bridge.protocols.frame import Damaged
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "item",
    [
        "01",
        "3903e7",
        "41ff",
        "6161",
        "80",
        "a10001",
        "9f01ff",
        "bf0001ff",
        "7f61616161ff",
        "c4822018d7",
        "f5",
        "fb4035800000000000",
    ],
)
def test_an_item_that_a_pack_may_have_passes(item: str) -> None:
    check_shape(bytes.fromhex(item))


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("", "cbor"),
        ("0101", "cbor"),
        ("18", "cbor"),
        ("42ff", "cbor"),
        ("8201", "cbor"),
        ("9f01", "cbor"),
        ("1c", "cbor"),
        ("7f41ffff", "cbor"),
        ("c001", "senml"),
        ("d823 6161", "senml"),
        ("d81c80", "senml"),
        ("c24101", "value"),
        ("c34101", "value"),
        ("c4810 1".replace(" ", ""), "senml"),
        ("c401", "senml"),
        ("a1f501", "senml"),
        ("e0", "senml"),
    ],
)
def test_any_other_is_refused_by_reason(item: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        check_shape(bytes.fromhex(item))
    assert damage.value.reason == reason


def test_nesting_and_exponents_are_bounded() -> None:
    check_shape(b"\x81" * DEPTH_MAX + b"\x01")
    with pytest.raises(Damaged, match="cbor"):
        check_shape(b"\x81" * (DEPTH_MAX + 1) + b"\x01")
    check_shape(b"\xc4\x82\x19" + EXPONENT_MAX.to_bytes(2, "big") + b"\x01")
    with pytest.raises(Damaged, match="value"):
        check_shape(b"\xc4\x82\x19" + (EXPONENT_MAX + 1).to_bytes(2, "big") + b"\x01")


@given(st.binary(max_size=100))
def test_any_bytes_pass_or_are_damage(item: bytes) -> None:
    reasons = set()
    try:
        check_shape(item)
    except Damaged as damage:
        reasons.add(damage.reason)
    assert reasons <= {"cbor", "senml", "value"}

"""SenML in CBOR: valid and invalid packs, and the meaning of their records."""

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from cbor2 import CBORTag, dumps
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.senml_pack import read_pack
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("pack", "reason"),
    [
        (dumps([]), "senml"),
        (dumps({0: "a"}), "senml"),
        (dumps([1]), "senml"),
        (dumps([{0: "a", 2: 1}] * 65), "senml"),
        (dumps([{0: "a"}]), "senml"),
        (dumps([{0: "a", 2: 1, 3: "b"}]), "senml"),
        (dumps([{0: "a", 2: "1"}]), "senml"),
        (dumps([{0: "a", 2: True}]), "senml"),
        (dumps([{0: "a", 5: 1}]), "senml"),
        (dumps([{0: "a", 2: 1, 1: ""}]), "senml"),
        (dumps([{0: "a", 2: 1, 6: 1e300}]), "time"),
        (dumps([{0: "a", 2: 1, 6: 1e12}]), "time"),
        (dumps([{0: "a", 2: 1, 6: -1e12}]), "time"),
        (dumps([{-3: -(2.0**28), 0: "a", 2: 1}]), "time"),
        (dumps([{-3: 2.5e11, 0: "a", 2: 1, 6: 2.5e11}]), "time"),
        (dumps([{0: "a", 2: 1, 6: float("nan")}]), "value"),
        (dumps([{0: "a", 2: 1, 1: "a\nb"}]), "senml"),
        (dumps([{0: "a", 2: 10**400}]), "value"),
        (dumps([{0: "a", 2: -(10**400)}]), "value"),
        (dumps([{0: "a", 2: 1, 6: 10**400}]), "value"),
        (dumps([{-5: 10**400, 0: "a"}]), "value"),
        (dumps([{-5: 2**63 - 1, 0: "a", 2: 1}]), "value"),
        (dumps([{0: "a", 2: Decimal(10**400)}]), "senml"),
        (dumps([{0: "a", 2: Decimal("-inf")}]), "value"),
        (dumps([{0: "a", 2: 1, 99: CBORTag(35, "(a+)+$")}]), "senml"),
        (dumps([{0: "a", 2: 1, 99: CBORTag(0, "2026-11-22T00:00:00Z")}]), "senml"),
        (dumps([{0: "a", 2: 1, 99: CBORTag(28, [CBORTag(29, 0)])}]), "senml"),
        (dumps([{0: "a", 2: 1, 1.5: 1}]), "senml"),
        (bytes.fromhex("81a3 0061 61 0201 0202"), "cbor"),  # A duplicate key.
        (bytes.fromhex("81a2 0061 61 0362 ff41"), "cbor"),  # Not UTF-8.
        (bytes.fromhex("81a2 0061 61 0363 eda080"), "cbor"),  # Half of a surrogate pair.
        (bytes.fromhex("9bffffffffffffffff"), "cbor"),
        (bytes.fromhex("81a2 0061 61 025bffffffffffffffff"), "cbor"),
        (bytes.fromhex("81a2 0061 61 02c4821b7fffffffffffffff01"), "value"),
        (bytes.fromhex("81a2 0061 61 02c482203a"), "cbor"),
        (bytes.fromhex("9fa2 0061 61 0201"), "cbor"),  # No break.
        (dumps([{0: "a", 2: 1, "secret_": 1}]), "senml"),
        (dumps([{-1: 11, 0: "a", 2: 1}]), "version"),
        (dumps([{2: 1}]), "name"),
        (dumps([{0: "a/b", 2: 1}]), "name"),
        (dumps([{0: "a", 2: float("nan")}]), "value"),
        (dumps([{0: "a", 2: float("inf")}]), "value"),
        (dumps([{0: "a", 2: 2**64}]), "value"),
        (dumps([{0: "a", 2: Decimal("1e999999")}]), "value"),
        (b"\xff", "cbor"),
        (b"", "cbor"),
        (dumps([{0: "a", 2: 1}]) + b"x", "cbor"),
        (b"\x81" * 300, "cbor"),
    ],
)
def test_a_pack_against_the_rule_is_refused_by_reason(pack: bytes, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        read_pack(pack)
    assert damage.value.reason == reason


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{0: "a", 2: 7}], [Measurement("a", 7)]),
        ([{0: "a", 2: Decimal("21.5")}], [Measurement("a", 21.5)]),
        ([{0: "a", 3: "open"}], [Measurement("a", "open")]),
        ([{0: "a", 4: False}], [Measurement("a", False)]),
        ([{0: "a", 8: b"\x01"}], [Measurement("a", b"\x01")]),
        (
            [{-2: "room.", -3: -10, -4: "Cel", -5: 20, 0: "a", 2: 1.5, 6: 4}, {0: "b", 1: "%RH"}],
            [Measurement("room.a", 21.5, "Cel", -6), Measurement("room.b", 20, "%RH", -10)],
        ),
        ([{0: "a", 2: 1, 99: "unknown", "x": 1}], [Measurement("a", 1)]),
        ([{0: "a", 2: 1, 99: [None, {"deep": 1.5}]}], [Measurement("a", 1)]),
        ([{0: "a", 2: 2**63 - 1}], [Measurement("a", 2**63 - 1)]),
        ([{0: "a", 2: Decimal("1e-320")}], [Measurement("a", 1e-320)]),
    ],
)
def test_a_pack_is_resolved_as_rfc_8428_requires(
    records: list[dict[int, Any]], expected: list[Measurement]
) -> None:
    assert read_pack(dumps(records)) == expected


def test_arrays_maps_and_texts_of_indefinite_length_are_read() -> None:
    pack = bytes.fromhex("9f bf 00 7f 61 61 61 62 ff 02 01 ff ff")
    assert read_pack(pack) == [Measurement("ab", 1)]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_pack_or_damage(pack: bytes) -> None:
    with contextlib.suppress(Damaged):
        assert read_pack(pack)

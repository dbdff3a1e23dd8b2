"""The board's frame: every check, the document's example, and any damage."""

import re
from binascii import crc_hqx
from decimal import Decimal
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cobs import cobs  # type: ignore[import-untyped]
from firmware_bridge.protocols.board_frame import (
    FRAME_BYTES_MAX,
    BoardFraming,
    acknowledgement_of,
    frame_bytes_of,
    read_acknowledgement,
)
from firmware_bridge.protocols.frame import BoardIdentity, Measurement
from hypothesis import given
from hypothesis import strategies as st

IDENTITY = BoardIdentity(42, 1, 1)
MEASUREMENTS = [Measurement("temperature", 21.5, "Cel", -0.25)]
GOOD = frame_bytes_of(IDENTITY, MEASUREMENTS)


HEAD = b"\x01" + bytes(11) + b"\x01"


def wrapped(content: bytes) -> bytes:
    stuffed = cobs.encode(content + crc_hqx(content, 0xFFFF).to_bytes(2, "big"))
    return b"\x00" + bytes(stuffed) + b"\x00"


def frame_of(records: Any, head: bytes = b"\x01" + bytes(11) + b"\x01") -> bytes:
    return wrapped(head + cbor2.dumps(records))


def test_the_frames_of_the_document_are_what_we_write_and_read() -> None:
    document = Path(__file__).parents[3] / "docs" / "formats" / "board-frame.md"
    example = document.read_text().partition("## Example")[2]
    blocks = re.findall(r"(?:^    [0-9a-f ]+\n)+", example, re.MULTILINE)
    frame, acknowledgement = (bytes.fromhex(block) for block in blocks)
    assert frame == GOOD
    (read,) = BoardFraming().feed(frame)
    assert (read.identity, read.quantities) == (IDENTITY, {"temperature": MEASUREMENTS})
    assert acknowledgement == acknowledgement_of(IDENTITY)
    assert read_acknowledgement(acknowledgement.strip(b"\x00")) == IDENTITY


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\x00\x05\x01\x00", "cobs"),
        (wrapped(b"\x01" + bytes(11)), "length"),
        (GOOD.replace(b"temp", b"tamp"), "checksum"),
        (frame_of([{0: "a", 2: 1}], b"\x02" + bytes(11) + b"\x01"), "version"),
        (acknowledgement_of(IDENTITY), "version"),
        (frame_of([{0: "a", 2: 1}], b"\x01" + bytes(12)), "sequence"),
        (wrapped(b"\x01" + bytes(11) + b"\x01\xff"), "cbor"),
        (wrapped(b"\x01" + bytes(11) + b"\x01"), "cbor"),
        (wrapped(b"\x01" + bytes(11) + b"\x01" + cbor2.dumps([{0: "a", 2: 1}]) + b"x"), "cbor"),
        (wrapped(b"\x01" + bytes(11) + b"\x01" + b"\x81" * 300), "cbor"),
        (frame_of([]), "senml"),
        (frame_of({0: "a"}), "senml"),
        (frame_of([1]), "senml"),
        (frame_of([{0: "a", 2: 1}] * 65), "senml"),
        (frame_of([{0: "a"}]), "senml"),
        (frame_of([{0: "a", 2: 1, 3: "b"}]), "senml"),
        (frame_of([{0: "a", 2: "1"}]), "senml"),
        (frame_of([{0: "a", 2: True}]), "senml"),
        (frame_of([{0: "a", 5: 1}]), "senml"),
        (frame_of([{0: "a", 2: 1, 1: ""}]), "senml"),
        (frame_of([{0: "a", 2: 1, 6: 1e300}]), "time"),
        (frame_of([{0: "a", 2: 1, 6: 1e12}]), "time"),
        (frame_of([{0: "a", 2: 1, 6: -1e12}]), "time"),
        (frame_of([{-3: -(2.0**28), 0: "a", 2: 1}]), "time"),
        (frame_of([{-3: 2.5e11, 0: "a", 2: 1, 6: 2.5e11}]), "time"),
        (frame_of([{0: "a", 2: 1, 6: float("nan")}]), "value"),
        (frame_of([{0: "a", 2: 1, 1: "a\nb"}]), "senml"),
        (frame_of([{0: "a", 2: 10**400}]), "value"),
        (frame_of([{0: "a", 2: -(10**400)}]), "value"),
        (frame_of([{0: "a", 2: 1, 6: 10**400}]), "value"),
        (frame_of([{-5: 10**400, 0: "a"}]), "value"),
        (frame_of([{-5: 2**63 - 1, 0: "a", 2: 1}]), "value"),
        (frame_of([{0: "a", 2: Decimal(10**400)}]), "senml"),
        (frame_of([{0: "a", 2: Decimal("-inf")}]), "value"),
        (frame_of([{0: "a", 2: 1, 99: cbor2.CBORTag(35, "(a+)+$")}]), "senml"),
        (frame_of([{0: "a", 2: 1, 99: cbor2.CBORTag(0, "2026-11-22T00:00:00Z")}]), "senml"),
        (frame_of([{0: "a", 2: 1, 99: cbor2.CBORTag(28, [cbor2.CBORTag(29, 0)])}]), "senml"),
        (frame_of([{0: "a", 2: 1, 1.5: 1}]), "senml"),
        (wrapped(HEAD + bytes.fromhex("81a3 0061 61 0201 0202")), "cbor"),  # A key twice.
        (wrapped(HEAD + bytes.fromhex("81a2 0061 61 0362 ff41")), "cbor"),  # No UTF-8.
        (wrapped(HEAD + bytes.fromhex("81a2 0061 61 0363 eda080")), "cbor"),  # Half a pair.
        (wrapped(HEAD + bytes.fromhex("9bffffffffffffffff")), "cbor"),
        (wrapped(HEAD + bytes.fromhex("81a2 0061 61 025bffffffffffffffff")), "cbor"),
        (wrapped(HEAD + bytes.fromhex("81a2 0061 61 02c4821b7fffffffffffffff01")), "value"),
        (wrapped(HEAD + bytes.fromhex("81a2 0061 61 02c482203a")), "cbor"),
        (wrapped(HEAD + bytes.fromhex("9fa2 0061 61 0201")), "cbor"),  # No break.
        (frame_of([{0: "a", 2: 1, "secret_": 1}]), "senml"),
        (frame_of([{-1: 11, 0: "a", 2: 1}]), "version"),
        (frame_of([{2: 1}]), "name"),
        (frame_of([{0: "a/b", 2: 1}]), "name"),
        (frame_of([{0: "a", 2: float("nan")}]), "value"),
        (frame_of([{0: "a", 2: float("inf")}]), "value"),
        (frame_of([{0: "a", 2: 2**64}]), "value"),
        (frame_of([{0: "a", 2: Decimal("1e999999")}]), "value"),
        (b"\x00" + b"x" * (FRAME_BYTES_MAX + 1) + b"\x00", "overlong"),
    ],
)
def test_a_damaged_frame_is_counted_by_reason_and_the_next_good_one_is_read(
    frame: bytes, reason: str
) -> None:
    framing = BoardFraming()
    found = framing.feed(frame + GOOD)
    assert [each.identity for each in found] == [IDENTITY]
    assert framing.tally.damaged == {reason: 1}


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
def test_a_pack_is_resolved_as_rfc_8428_says(
    records: list[dict[int, Any]], expected: list[Measurement]
) -> None:
    (frame,) = BoardFraming().feed(frame_of(records))
    assert [found for group in frame.quantities.values() for found in group] == expected


def test_arrays_maps_and_texts_of_indefinite_length_are_read() -> None:
    pack = bytes.fromhex("9f bf 00 7f 61 61 61 62 ff 02 01 ff ff")
    (frame,) = BoardFraming().feed(wrapped(HEAD + pack))
    assert frame.quantities == {"ab": [Measurement("ab", 1)]}


def test_records_of_one_name_stay_together() -> None:
    (frame,) = BoardFraming().feed(
        frame_of([{0: "a", 2: 1, 6: -1}, {0: "b", 2: 2}, {0: "a", 2: 3}])
    )
    assert {name: len(found) for name, found in frame.quantities.items()} == {"a": 2, "b": 1}


def test_text_before_a_frame_costs_nothing_but_itself() -> None:
    framing = BoardFraming()
    assert len(framing.feed(b"ets Jun  8 2016 00:22:57\r\nrst:0x1\r\n" + GOOD)) == 1
    assert framing.tally.damaged.total() == 1


@given(st.data())
def test_any_flipped_bits_are_found_and_never_raise(data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(GOOD) - 2))
    mask = data.draw(st.integers(1, 255))
    broken = GOOD[:position] + bytes((GOOD[position] ^ mask,)) + GOOD[position + 1 :]
    framing = BoardFraming()
    assert [each.identity for each in framing.feed(broken + GOOD)] == [IDENTITY]
    assert framing.tally.damaged


@given(st.lists(st.binary(max_size=400)))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_frame(pieces: list[bytes]) -> None:
    framing = BoardFraming()
    for piece in pieces:
        framing.feed(piece)
    assert framing.feed(GOOD)[-1].identity == IDENTITY


@given(st.binary(max_size=300))
def test_no_pack_behind_a_good_checksum_raises(pack: bytes) -> None:
    BoardFraming().feed(wrapped(b"\x01" + bytes(11) + b"\x01" + pack))


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,20}", fullmatch=True)
field_values = (
    st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.booleans()
    | st.binary(max_size=20)
)


@given(
    st.builds(BoardIdentity, *[st.integers(0, 2**32 - 1)] * 2, st.integers(1, 2**32 - 1)),
    st.lists(st.builds(Measurement, names, field_values), min_size=1, max_size=8),
)
def test_what_a_board_writes_is_what_the_bridge_reads(
    identity: BoardIdentity, measurements: list[Measurement]
) -> None:
    (frame,) = BoardFraming().feed(frame_bytes_of(identity, measurements))
    assert frame.identity == identity
    expected: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        expected.setdefault(measurement.name, []).append(measurement)
    # Equal, not the same text: a decimal fraction has no negative zero.
    assert frame.quantities == expected
    for name, found in frame.quantities.items():
        assert [type(each.value) for each in found] == [type(e.value) for e in expected[name]]

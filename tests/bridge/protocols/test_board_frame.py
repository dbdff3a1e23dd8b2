"""The board's frame: every check, the example in the documentation, and arbitrary damage."""

import re
from binascii import crc_hqx
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cobs import cobs  # type: ignore[import-untyped]
from firmware_bridge.protocols.board import BoardDecoder
from firmware_bridge.protocols.board_frame import (
    acknowledgement_of,
    frame_bytes_of,
    read_acknowledgement,
)
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity
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
    (read,) = BoardDecoder().feed(frame)
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
    ],
)
def test_a_damaged_frame_is_counted_by_reason_and_the_next_good_one_is_read(
    frame: bytes, reason: str
) -> None:
    framing = BoardDecoder()
    found = framing.feed(frame + GOOD)
    assert [each.identity for each in found] == [IDENTITY]
    assert framing.tally.damaged == {reason: 1}


def test_records_of_one_name_stay_together() -> None:
    (frame,) = BoardDecoder().feed(
        frame_of([{0: "a", 2: 1, 6: -1}, {0: "b", 2: 2}, {0: "a", 2: 3}])
    )
    assert {name: len(found) for name, found in frame.quantities.items()} == {"a": 2, "b": 1}


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
    (frame,) = BoardDecoder().feed(frame_bytes_of(identity, measurements))
    assert frame.identity == identity
    expected: dict[str, list[Measurement]] = {}
    for measurement in measurements:
        expected.setdefault(measurement.name, []).append(measurement)
    # Equal, but not the same text: a decimal fraction has no negative zero.
    assert frame.quantities == expected
    for name, found in frame.quantities.items():
        assert [type(each.value) for each in found] == [type(e.value) for e in expected[name]]

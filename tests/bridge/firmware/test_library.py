"""The C library against the bridge's own decoder, with frames on which both have to agree."""

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.board_frame import (
    acknowledgement_of,
    read_acknowledgement,
    read_frame,
)
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.firmware.board_program import BoardProgram
from tests.bridge.firmware.compiled import FIRMWARE, HERE, compile_program

GOLDEN = json.loads((HERE / "golden_frames.json").read_text())
MEMORY_BYTES = 120
"""Memory of the board in bytes, enough for five frames with `RECORD`."""
RECORD = "integer count - 1000"
FRAMES_HELD = 5
SLOT_BYTES = 6
POWER_CUTS = 200


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("board_program", tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def board(program: Path) -> Iterator[BoardProgram]:
    with BoardProgram(program) as found:
        found.ask(f"open 7 1 {MEMORY_BYTES} 0")
        yield found


def frame_in(data: bytes) -> Frame:
    assert data[0] == data[-1] == 0
    assert 0 not in data[1:-1]
    return read_frame(data[1:-1])


def sequence_in(data: bytes) -> int:
    identity = frame_in(data).identity
    assert identity is not None
    return identity.sequence


def acknowledged(sequence: int, device: int = 7, boot: int = 1) -> bytes:
    return acknowledgement_of(BoardIdentity(device, boot, sequence))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_the_library_writes_the_golden_frames(program: Path, case: dict[str, Any]) -> None:
    with BoardProgram(program) as board:
        board.ask(f"open {case['device']} {case['boot']} 500 0")
        for sequence in range(1, case["sequence"]):
            assert board.keep(0, RECORD) == sequence
            board.poll(0)
            board.receive(0, acknowledged(sequence, case["device"], case["boot"]))
        assert board.keep(0, *case["requests"]) == case["sequence"]
        assert board.poll(case["age_ms"]).hex() == case["frame"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_the_bridge_reads_the_golden_frames(case: dict[str, Any]) -> None:
    frame = frame_in(bytes.fromhex(case["frame"]))
    found = [
        [each.name, each.value, each.unit, each.time_seconds]
        for measurements in frame.quantities.values()
        for each in measurements
    ]
    assert found == case["measurements"]
    assert frame.identity == BoardIdentity(case["device"], case["boot"], case["sequence"])


def test_a_frame_is_sent_again_with_a_greater_age_until_its_acknowledgement_comes(
    board: BoardProgram,
) -> None:
    board.keep(0, RECORD)
    first = board.poll(0)
    assert board.poll(499) == b""
    second = board.poll(500)
    assert frame_in(first).contents_digest() == frame_in(second).contents_digest()
    assert [each.time_seconds for each in frame_in(second).quantities["count"]] == [-0.5]
    assert board.receive(600, acknowledged(1)) == (0, 1, 0)
    assert board.poll(60000) == b""


def test_it_waits_twice_as_long_as_the_latest_acknowledgement_took_up_to_half_a_minute(
    board: BoardProgram,
) -> None:
    board.keep(0, RECORD)
    board.keep(0, RECORD)
    board.poll(0)
    assert board.receive(2000, acknowledged(1)) == (1, 1, 0)
    assert sequence_in(board.poll(2000)) == 2
    assert board.poll(5999) == b""
    assert sequence_in(board.poll(6000)) == 2
    board.receive(100_000, acknowledged(2))
    board.keep(100_000, RECORD)
    board.poll(100_000)
    assert board.poll(129_999) == b""
    assert board.poll(130_000) != b""


def test_only_the_acknowledgement_of_the_frame_on_the_line_removes_it(board: BoardProgram) -> None:
    board.keep(0, RECORD)
    assert board.receive(0, acknowledged(1)) == (1, 0, 0), "it was not sent"
    board.poll(0)
    others = [acknowledged(2), acknowledged(0), acknowledged(1, 8), acknowledged(1, 7, 2)]
    damaged = bytearray(acknowledged(1))
    damaged[9] ^= 1
    for data in (*others, bytes(damaged), acknowledged(1)[:-4] + b"\x00", b"\x01" * 2000 + b"\x00"):
        assert board.receive(0, data) == (1, 0, 0)
    for byte in b"bootloader" + acknowledged(1):
        left = board.receive(0, bytes([byte]))
    assert left == (0, 1, 0), "byte by byte, after a boot loader's text"
    assert board.receive(0, acknowledged(1)) == (0, 1, 0)


def test_full_memory_gives_the_oldest_up_and_the_numbers_show_it(board: BoardProgram) -> None:
    for sequence in range(1, 41):
        assert board.keep(0, RECORD) == sequence
    waiting, _, given_up = board.receive(0, b"\x00")
    assert (waiting, given_up) == (FRAMES_HELD, 40 - FRAMES_HELD)
    for sequence in range(41 - FRAMES_HELD, 41):
        assert sequence_in(board.poll(0)) == sequence
        board.receive(0, acknowledged(sequence))
    assert board.receive(0, b"\x00") == (0, FRAMES_HELD, 40 - FRAMES_HELD)


def test_what_was_given_up_while_on_the_line_is_not_confused_with_its_successor(
    board: BoardProgram,
) -> None:
    board.keep(0, RECORD)
    board.poll(0)
    for _ in range(FRAMES_HELD):
        board.keep(0, RECORD)
    assert board.receive(0, acknowledged(1)) == (FRAMES_HELD, 0, 1)
    assert sequence_in(board.poll(0)) == 2


def test_a_counter_that_wraps_leaves_ages_and_resends_as_they_are(program: Path) -> None:
    with BoardProgram(program) as board:
        board.ask(f"open 7 1 100 {2**32 - 100}")
        board.keep(2**32 - 50, RECORD)
        board.poll(2**32 - 1)
        assert board.poll(400) == b""
        [measurement] = frame_in(board.poll(500)).quantities["count"]
        assert measurement.time_seconds == -0.55
        for days in range(25, 75, 25):
            board.poll(days * 86_400_000 % 2**32)
        [measurement] = frame_in(board.poll(75 * 86_400_000 % 2**32)).quantities["count"]
        assert measurement.time_seconds == -(75 * 86_400 + 0.05)


@pytest.mark.parametrize(
    "record",
    [
        "integer -a - 1",
        "integer a/b - 1",
        f"integer {'n' * 65} - 1",
        f"integer a {'u' * 33} 1",
        "integer a \x7f 1",
        "float a - nan",
        "float a - inf",
        f"text a {'t' * 99}",
        "text a \xfc",
    ],
)
def test_a_record_that_the_format_does_not_have_is_refused_and_the_others_stay(
    board: BoardProgram, record: str
) -> None:
    board.ask("begin 0")
    assert board.ask(record) == "0"
    assert board.ask(RECORD) == "1"
    assert board.ask(record) == "0"
    assert board.ask("keep") == "1"
    assert list(frame_in(board.poll(0)).quantities) == ["count"]


def test_a_frame_without_records_and_one_larger_than_the_memory_take_no_number(
    program: Path,
) -> None:
    with BoardProgram(program) as board:
        board.ask("open 7 1 30 0")
        assert board.ask("keep") == "0"
        assert board.ask(RECORD) == "0", "nothing was begun"
        assert board.keep(0) == 0
        assert board.keep(0, RECORD, RECORD) == 0
        assert board.keep(0, RECORD) == 1


def test_damaged_acknowledgements_are_judged_as_the_bridge_s_own_reader_judges_them(
    board: BoardProgram,
) -> None:
    chance = random.Random(1)  # noqa: S311
    sequence = 1
    board.keep(0, RECORD)
    board.poll(0)
    for _ in range(1500):
        data = bytearray(acknowledged(sequence)[1:-1])
        for _ in range(chance.choice((0, 1, 1, 2))):
            place = chance.randrange(len(data))
            action = chance.randrange(3)
            if action == 0:
                data[place] = chance.randrange(1, 256)
            elif action == 1:
                del data[place]
            else:
                data.insert(place, chance.randrange(1, 256))
        try:
            is_good = read_acknowledgement(bytes(data)) == BoardIdentity(7, 1, sequence)
        except Damaged:
            is_good = False
        waiting, _, _ = board.receive(0, b"\x00" + bytes(data) + b"\x00")
        assert (waiting == 0) == is_good, data.hex()
        if is_good:
            sequence = board.keep(0, RECORD)
            board.poll(0)
    assert sequence > 100


def test_starts_are_counted_through_power_cuts_at_any_byte_and_no_number_is_given_twice(
    board: BoardProgram,
) -> None:
    chance = random.Random(2)  # noqa: S311
    slots = b"\xff" * SLOT_BYTES * 4
    given = [0]
    for _ in range(POWER_CUTS):
        count, rest = board.ask(f"count {slots.hex()} {chance.randrange(9)}").split()
        slots = bytes.fromhex(rest)
        if int(count):
            given.append(int(count))
    assert given == list(range(len(given)))
    assert len(given) > POWER_CUTS / 5


def test_a_memory_that_cannot_count_gives_no_number(board: BoardProgram) -> None:
    full = struct.pack(">IH", 2**32 - 1, 0x1D0F)
    assert board.ask(f"count {'ff' * SLOT_BYTES} 6").split()[0] == "0", "one slot"
    assert board.ask(f"count {'ff' * SLOT_BYTES * 2} 0").split()[0] == "0", "writes nothing"
    assert board.ask(f"count {'ff' * SLOT_BYTES * 2} 6").split()[0] == "1"
    assert board.ask(f"count {full.hex() * 2} 6").split()[0] == "0", "all numbers are given"


def test_the_library_has_no_heap_and_no_c11() -> None:
    sources = "".join(path.read_text() for path in (FIRMWARE / "src").iterdir())
    for word in ("malloc", "free(", "calloc", "_Static_assert", "stdio.h"):
        assert word not in sources

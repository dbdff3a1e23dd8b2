"""The C library carries out the bridge's commands, and C and Python agree on every frame."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.board_command import ARGUMENT_MS_MAX, AnswerCode, BoardCommand
from firmware_bridge.protocols.board_frame import (
    answer_bytes_of,
    command_bytes_of,
    read_command,
    read_frame,
)
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.firmware.board_program import BoardProgram
from tests.bridge.firmware.compiled import HERE, compile_program

GOLDEN = json.loads((HERE / "golden_commands.json").read_text())
SET_INTERVAL = command_bytes_of(BoardIdentity(7, 1, 9), BoardCommand.SET_INTERVAL, 500)
DONE = answer_bytes_of(BoardIdentity(7, 1, 9), AnswerCode.DONE)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("board_program", tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def board(program: Path) -> Iterator[BoardProgram]:
    with BoardProgram(program) as found:
        found.ask("open 7 1 120 0")
        found.ask("handle 0")
        yield found


def identity_of(case: dict[str, Any]) -> BoardIdentity:
    return BoardIdentity(case["device"], case["boot"], case["request"])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_the_library_answers_the_golden_commands(program: Path, case: dict[str, Any]) -> None:
    is_refused = case["code"] == AnswerCode.BAD_ARGUMENT
    with BoardProgram(program) as board:
        board.ask(f"open {case['device']} {case['boot']} 120 0")
        board.ask(f"handle {0 if is_refused else case['code']}")
        carried_out, written = board.command(bytes.fromhex(case["frame"]))
    assert carried_out == ([] if is_refused else [f"{case['command']}:{case['argument']}"])
    assert written.hex() == case["answer"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_the_bridge_writes_the_golden_commands_and_reads_their_answers(
    case: dict[str, Any],
) -> None:
    identity = identity_of(case)
    command = command_bytes_of(identity, case["command"], case["argument"])
    assert command.hex() == case["frame"]
    assert read_command(command[1:-1]) == (identity, case["command"], case["argument"])
    answer = read_frame(bytes.fromhex(case["answer"])[1:-1])
    assert (answer.identity, answer.answer_code) == (identity, case["code"])
    assert answer.quantities == {}


def test_the_library_and_the_bridge_have_the_same_numbers() -> None:
    header = (HERE.parents[2] / "firmware-bridge/firmware/src/oncegate_board.h").read_text()
    named = {each.name: int(each) for each in (*BoardCommand, *AnswerCode)}
    named["ARGUMENT_MS_MAX"] = ARGUMENT_MS_MAX
    for name, number in named.items():
        assert f"#define ONCEGATE_{name} {number}u" in header


def test_a_command_comes_byte_by_byte_amid_other_bytes_and_is_carried_out_once(
    board: BoardProgram,
) -> None:
    found = [board.command(bytes([byte])) for byte in b"bootloader" + SET_INTERVAL]
    assert [each for each in found if each != ([], b"")] == [(["1:500"], DONE)]


def test_a_command_for_another_board_or_start_and_a_damaged_one_are_ignored(
    board: BoardProgram,
) -> None:
    damaged = bytearray(SET_INTERVAL)
    damaged[-3] ^= 1
    others = [command_bytes_of(BoardIdentity(*each, 9), 1, 500) for each in ((8, 1), (7, 2))]
    cut = SET_INTERVAL[:-4] + b"\x00"
    for data in (*others, bytes(damaged), cut, b"\x01" * 200 + SET_INTERVAL[1:], DONE):
        assert board.command(data) == ([], b""), data.hex()
    assert board.command(SET_INTERVAL) == (["1:500"], DONE)


def test_a_board_without_commands_answers_that_it_does_not_know_them(program: Path) -> None:
    with BoardProgram(program) as board:
        board.ask("open 7 1 120 0")
        unknown = answer_bytes_of(BoardIdentity(7, 1, 9), AnswerCode.UNKNOWN_COMMAND)
        assert board.command(SET_INTERVAL) == ([], unknown)


def test_a_command_amid_a_frame_that_is_composed_leaves_it_whole(board: BoardProgram) -> None:
    board.ask("begin 0")
    assert board.ask("integer count - 1000") == "1"
    assert board.command(SET_INTERVAL) == (["1:500"], DONE)
    assert board.ask("keep") == "1"
    [measurement] = read_frame(board.poll(0)[1:-1]).quantities["count"]
    assert measurement.value == 1000

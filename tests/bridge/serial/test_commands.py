"""The table of open commands: its size is limited, and each command is answered once."""

import asyncio

import pytest
from firmware_bridge.protocols.board_frame import read_command
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.serial.commands import BOARDS_MAX, OPEN_MAX, Commands

from tests.bridge.broker import DEADLINE_SECONDS

BOARD = BoardIdentity(42, 3, 9)


class Line:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.takes = True

    def write(self, data: bytes) -> bool:
        self.written.append(data)
        return self.takes


async def test_an_answer_comes_once_from_the_line_that_was_asked() -> None:
    commands, line, other = Commands(), Line(), Line()
    answers: list[dict[str, str]] = []
    commands.note_board(BOARD, line.write)
    commands.carry_out("board-0000002a", "set_interval", b"500", answers.append)
    identity, command, argument = read_command(line.written[0].strip(b"\x00"))
    assert (identity.device, identity.boot, command, argument) == (42, 3, 1, 500)
    commands.receive_answer(identity, 0, other.write)
    assert answers == []
    commands.receive_answer(identity, 0, line.write)
    commands.receive_answer(identity, 0, line.write)
    assert answers == [{"result": "done"}]


@pytest.mark.parametrize(("code", "error"), [(1, "unknown_command"), (77, "code_77")])
async def test_a_board_s_refusal_is_passed_on(code: int, error: str) -> None:
    commands, line = Commands(), Line()
    answers: list[dict[str, str]] = []
    commands.note_board(BOARD, line.write)
    commands.carry_out("board-0000002a", "identify", b"500", answers.append)
    identity, _, _ = read_command(line.written[0].strip(b"\x00"))
    commands.receive_answer(identity, code, line.write)
    assert answers == [{"error": error}]


async def test_what_cannot_be_carried_out_is_answered_immediately() -> None:
    commands, line = Commands(), Line()
    answers: list[dict[str, str]] = []
    commands.note_board(BOARD, line.write)
    commands.carry_out("board-0000002a", "explode", b"1", answers.append)
    commands.carry_out("board-0000002a", "set_interval", b"0", answers.append)
    commands.carry_out("board-00000001", "set_interval", b"1", answers.append)
    assert line.written == []
    line.takes = False
    commands.carry_out("board-0000002a", "set_interval", b"1", answers.append)
    errors = [answer["error"] for answer in answers]
    assert errors == ["unknown_command", "bad_argument", "away", "away"]


async def test_a_full_table_refuses_and_is_emptied_by_time() -> None:
    commands, line = Commands(answer_seconds_max=0.05), Line()
    answers: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    commands.note_board(BOARD, line.write)
    for _ in range(OPEN_MAX + 1):
        commands.carry_out("board-0000002a", "identify", b"1", answers.put_nowait)
    assert answers.get_nowait() == {"error": "busy"}
    async with asyncio.timeout(DEADLINE_SECONDS):
        assert [await answers.get() for _ in range(OPEN_MAX)] == [{"error": "no_answer"}] * OPEN_MAX
    commands.carry_out("board-0000002a", "identify", b"1", answers.put_nowait)
    assert len(line.written) == OPEN_MAX + 1


async def test_the_board_that_was_silent_longest_is_forgotten() -> None:
    commands, line = Commands(), Line()
    answers: list[dict[str, str]] = []
    for device in range(BOARDS_MAX + 1):
        commands.note_board(BoardIdentity(device, 1, 1), line.write)
    commands.carry_out("board-00000000", "identify", b"1", answers.append)
    assert answers == [{"error": "away"}]

"""The fuzzer of the C decoder: it finds nothing in the real code, and every planted fault."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bridge.firmware.compiled import FIRMWARE, compile_program

SEED = "1"
INPUTS = "20000"
"""Enough inputs to find every planted fault. Only the seed decides, never the time."""


def run(program: Path) -> subprocess.CompletedProcess[str]:
    command = [str(program), SEED, "0", INPUTS]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_arbitrary_bytes_do_no_harm_to_the_decoder(tmp_path: Path) -> None:
    done = run(compile_program("fuzz_receive", tmp_path))
    assert done.returncode == 0, done.stderr
    counts = (int(word) for word in done.stdout.split() if word.isdigit())
    inputs, acknowledgements, commands = counts
    assert inputs == int(INPUTS)
    assert acknowledgements > inputs / 2, "the fuzzer reaches what is behind the CRC"
    assert commands > inputs / 4


@pytest.mark.parametrize(
    ("name", "right", "wrong", "finding"),
    [
        (
            "oncegate_frame.c",
            "code == 0 || code - 1u > count - from",
            "code == 0",
            "heap-buffer-overflow",
        ),
        (
            "oncegate_board.c",
            "!board->is_sent || oncegate_get_u32(board->part + 9) != oldest_sequence(board)",
            "!board->is_sent",
            "another one counts nothing",
        ),
        (
            "oncegate_board.c",
            "board->memory_bytes - board->used < bytes",
            "board->memory_bytes - board->used + 1 < bytes",
            "the memory is not overdrawn",
        ),
        (
            "oncegate_board.c",
            "count == COMMAND_CONTENT_BYTES",
            "count > ONCEGATE_HEAD_BYTES",
            "a whole command is carried out once, another not",
        ),
        (
            "oncegate_board.c",
            "argument > ONCEGATE_ARGUMENT_MS_MAX",
            "argument > 4000000000u",
            "an argument is a time",
        ),
    ],
)
def test_the_fuzzer_finds_a_planted_mistake(
    name: str, right: str, wrong: str, finding: str, tmp_path: Path
) -> None:
    sources = tmp_path / "src"
    shutil.copytree(FIRMWARE / "src", sources)
    text = (sources / name).read_text()
    assert right in text
    (sources / name).write_text(text.replace(right, wrong))
    done = run(compile_program("fuzz_receive", tmp_path, sources))
    assert done.returncode != 0
    assert finding in done.stderr

"""`oncegate simulate-board` provides a terminal for a bridge until the command is stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.cli.command import oncegate

DEADLINE_SECONDS = 60.0


@pytest.fixture
def board(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gateway.cli.main", "simulate-board", str(tmp_path / "board")),
            *("--interval", "10ms", "--device", "7", "--quiet"),
        ],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    yield process
    process.kill()
    process.communicate(timeout=DEADLINE_SECONDS)


def frame_from(terminal: int) -> bytes:
    """Return the first complete frame. A frame ends with a zero byte."""
    received = b""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while received.count(b"\0") < 2:
        assert time.monotonic() < deadline, f"no frame in {received!r}"
        received += os.read(terminal, 4096)
    return received.split(b"\0")[1]


def test_frames_come_out_of_the_link_and_sigterm_takes_the_link_away(
    board: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    link = tmp_path / "board"
    until_there(link, board)
    terminal = os.open(link, os.O_RDWR | os.O_NOCTTY)
    try:
        assert len(frame_from(terminal)) > 10
    finally:
        os.close(terminal)
    board.send_signal(signal.SIGTERM)
    assert board.wait(DEADLINE_SECONDS) == 0
    assert not link.is_symlink()


def until_there(link: Path, board: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not link.is_symlink():
        assert board.poll() is None, "it has ended"
        assert time.monotonic() < deadline, "no link was made"
        time.sleep(0.01)


def test_a_second_board_on_the_link_of_a_running_one_is_refused_in_one_line(
    board: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    link = tmp_path / "board"
    until_there(link, board)
    terminal = link.readlink()
    outcome = oncegate("simulate-board", link, directory=tmp_path)
    assert outcome.returncode == 1
    (line,) = outcome.stderr.splitlines()
    assert f"process {board.pid} simulates a board on {link}: stop it" in line
    assert link.readlink() == terminal


@pytest.mark.parametrize("interval", ["5", "0s", "2d", "never"])
def test_an_interval_that_cannot_be_is_refused_with_what_is_allowed(
    interval: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "board"
    assert run(["simulate-board", str(link), "--interval", interval]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("--interval: use a duration with its unit")
    assert not link.is_symlink()

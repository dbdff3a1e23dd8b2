"""Properties of every long-running command: signals, readiness, and an end in one line."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.running.processes import READY_VARIABLE, SUPERVISOR_VARIABLE, notify_ready

DEADLINE_SECONDS = 60.0
PROGRAM = """
import asyncio, sys
from pathlib import Path
from gateway.cli.common.failures import CommandFailed
from gateway.cli.running.processes import notify_ready, serve_until_stopped

class Refusal(Exception): pass
class Mistake(Exception): pass

async def until_stopped(stop):
    print("serves", flush=True)
    notify_ready()
    await stop.wait()
    print("ends in its own order", flush=True)

async def refuses(stop): raise Refusal("the directory\\n is in use")
async def is_mistaken(stop): raise Mistake("the file is wrong")
async def meets_the_disk(stop): open("/nowhere/at/all")

try:
    serve_until_stopped(
        "room", globals()[sys.argv[1]], verbose=False, quiet=False, data_dir=Path("data"),
        refusals=(Refusal,), mistakes=(Mistake,),
    )
except CommandFailed as failure:
    print(*failure.lines, sep="|")
    sys.exit(failure.exit_code)
"""


def program(serve: str, directory: Path, **environment: str) -> subprocess.Popen[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_")}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, serve],
        cwd=directory,
        env=inherited | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_it_to_stop_and_it_ends_in_its_own_order(
    number: signal.Signals, tmp_path: Path
) -> None:
    process = program("until_stopped", tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "serves\n"
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o750
    process.send_signal(number)
    assert end_of(process) == (0, "ends in its own order\n")


@pytest.mark.parametrize(
    ("serve", "code", "line"),
    [
        ("refuses", 1, "oncegate room: the directory is in use"),
        ("is_mistaken", 2, "oncegate room: the file is wrong"),
        (
            "meets_the_disk",
            1,
            "oncegate room: /nowhere/at/all: the directory /nowhere/at does not exist",
        ),
    ],
)
def test_what_was_foreseen_ends_it_with_one_line_and_the_exit_code_that_fits(
    serve: str, code: int, line: str, tmp_path: Path
) -> None:
    assert end_of(program(serve, tmp_path)) == (code, f"{line}\n")


def test_it_does_not_begin_when_its_supervisor_has_ended_already(tmp_path: Path) -> None:
    process = program("until_stopped", tmp_path, **{SUPERVISOR_VARIABLE: "-1"})
    assert end_of(process) == (1, "oncegate: the supervisor has ended\n")


def test_readiness_is_written_once_and_the_pipe_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setenv(READY_VARIABLE, str(writer))
    notify_ready()
    notify_ready()
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"ready\n"
    assert READY_VARIABLE not in os.environ


@pytest.mark.parametrize("descriptor", ["no number", "1000000"])
def test_a_pipe_that_is_gone_does_not_keep_it_from_working(
    descriptor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READY_VARIABLE, descriptor)
    notify_ready()
    assert READY_VARIABLE not in os.environ


def test_a_process_that_may_open_too_few_files_refuses_to_start(tmp_path: Path) -> None:
    process = subprocess.run(
        ["prlimit", "--nofile=40:40", sys.executable, "-c", PROGRAM, "until_stopped"],
        check=False,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert process.returncode == 1
    assert process.stdout == (
        "oncegate room: this process may open 40 files, and needs at least 64: raise the limit "
        "(ulimit -n, LimitNOFILE of the service, --ulimit nofile of a container)\n"
    )

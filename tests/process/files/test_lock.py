"""Locks between processes: a second process is refused or waits. No lock outlives its process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.process.files.lock import LockTaken, ProcessLock, alone_in

ROOT = Path(__file__).resolve().parents[3]
PROCESS_SECONDS_MAX = 30
TAKE = """
import sys
from pathlib import Path
from gateway.process.files.lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
lock.take()
lock.note_holder()
print("taken", flush=True)
sys.stdin.read()
"""
ENTER = """
import sys
from pathlib import Path
from gateway.process.files.lock import alone_in
print("started", flush=True)
with alone_in(Path(sys.argv[1])):
    print((Path(sys.argv[1]) / "made").read_text(), flush=True)
"""


def start(program: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def taken(path: Path) -> ProcessLock:
    lock = ProcessLock(path)
    lock.take()
    return lock


def refusal_of(path: Path) -> LockTaken:
    with pytest.raises(LockTaken) as refusal:
        taken(path)
    return refusal.value


def test_a_second_lock_is_refused_with_the_number_of_the_process_that_has_it(path: Path) -> None:
    with taken(path) as lock:
        lock.note_holder()
        assert refusal_of(path).holder == str(os.getpid())


def test_a_holder_that_noted_no_number_leaves_none(path: Path) -> None:
    with taken(path):
        assert refusal_of(path).holder == ""
    assert path.read_bytes() == b""


def test_a_longer_note_of_an_earlier_holder_is_replaced(path: Path) -> None:
    path.write_text("12345678901234567890")
    with taken(path) as lock:
        lock.note_holder()
    assert path.read_text() == str(os.getpid())


def test_a_note_that_is_no_number_is_no_error_of_the_one_that_is_refused(path: Path) -> None:
    path.write_bytes(b"\xff" * 100)
    with taken(path):
        assert refusal_of(path).holder == "\ufffd" * 32


def test_a_lock_that_was_closed_can_be_taken_again(path: Path) -> None:
    lock = taken(path)
    lock.close()
    lock.close()
    taken(path).close()


def test_a_lock_that_is_dropped_without_being_closed_is_let_go_of(path: Path) -> None:
    lock = taken(path)
    with pytest.warns(ResourceWarning):
        del lock
    taken(path).close()


def test_a_refused_lock_keeps_no_descriptor_open(path: Path) -> None:
    with taken(path):
        before = os.listdir("/proc/self/fd")
        refusal_of(path)
        assert os.listdir("/proc/self/fd") == before


def test_opening_alone_locks_nothing(path: Path) -> None:
    with ProcessLock(path):
        taken(path).close()


def test_a_lock_ends_with_its_process_however_that_ends(path: Path) -> None:
    with start(TAKE, path) as process:
        assert line_of(process) == "taken"
        assert refusal_of(path).holder == str(process.pid)
        process.kill()
        process.wait(PROCESS_SECONDS_MAX)
    taken(path).close()


def test_on_a_full_disk_the_lock_is_held_without_a_note(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with taken(path) as lock:
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", failing(OSError(28, "No space left on device")))
            lock.note_holder()
        assert refusal_of(path).holder == ""


def test_a_note_that_fails_for_another_reason_lets_go_of_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = taken(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", failing(OSError(5, "Input/output error")))
        with pytest.raises(OSError, match="Input/output error"):
            lock.note_holder()
    taken(path).close()


def failing(error: OSError) -> object:
    def fail(*_: object) -> int:
        raise error

    return fail


def test_a_link_in_place_of_the_lock_is_refused(path: Path) -> None:
    path.symlink_to(path.with_name("victim"))
    with pytest.raises(OSError, match="is a link"):
        ProcessLock(path)
    assert not path.with_name("victim").exists()


def test_a_second_process_waits_until_the_first_has_left_the_folder(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        process = start(ENTER, tmp_path)
        assert line_of(process) == "started"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        (tmp_path / "made").write_text("by the first")
    with process:
        assert line_of(process) == "by the first"
    assert process.returncode == 0

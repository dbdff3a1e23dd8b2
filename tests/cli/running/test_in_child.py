"""Work in a separate process: its result is returned, and its modules are not loaded here."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.cli.running.in_child import in_child


def _nothing() -> None:
    """Do no other work until the child has finished."""


def test_a_result_comes_from_another_process() -> None:
    if len(os.listdir("/proc/self/task")) == 1:
        assert in_child(os.getpid, _nothing) != os.getpid()
    assert in_child(lambda: {"a": (1, Path("b"))}, _nothing) == {"a": (1, Path("b"))}


def test_with_other_threads_it_is_done_here() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert in_child(os.getpid, _nothing) == os.getpid()
    finally:
        done.set()
        other.join()


def test_with_a_thread_that_python_does_not_count_it_is_done_here_without_a_warning() -> None:
    program = (
        "import _thread, os, threading\n"
        "from gateway.cli.running.in_child import in_child\n"
        "lock = _thread.allocate_lock()\n"
        "lock.acquire()\n"
        "_thread.start_new_thread(lock.acquire, ())\n"
        "assert threading.active_count() == 1\n"
        "assert in_child(os.getpid, lambda: None) == os.getpid()\n"
        "lock.release()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_where_no_process_can_be_had_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    assert in_child(os.getpid, _nothing) == os.getpid()


def test_an_error_is_raised_here_and_nothing_is_printed_twice() -> None:
    program = (
        "from gateway.cli.running.in_child import in_child\n"
        "print('begun')\n"
        "def work():\n    raise ValueError('no')\n"
        "try:\n    in_child(work, lambda: None)\n"
        "except ValueError as error:\n    print('raised', error)\n"
    )
    # Standard output is a pipe here, so it is buffered when the process forks.
    around = {name: each for name, each in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=around, capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == ["begun", "raised no"]


def test_other_work_is_done_here_until_the_child_has_finished() -> None:
    program = (
        "import os\n"
        "from gateway.cli.running.in_child import in_child\n"
        "read_end, write_end = os.pipe()\n"
        # The child can only finish after the other work.
        "def work():\n    return os.read(read_end, 1), os.getpid()\n"
        "def meanwhile():\n    os.write(write_end, b'a')\n"
        "byte, child = in_child(work, meanwhile)\n"
        "assert byte == b'a' and child != os.getpid()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)

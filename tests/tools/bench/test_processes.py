"""The processor time, memory and writes counted for a process."""

import os
import subprocess
import sys
import time

import pytest

from gateway.tools.bench.processes import usage_of


def test_work_memory_and_writes_of_a_process_are_counted() -> None:
    before = usage_of(os.getpid())
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    after = usage_of(os.getpid())
    assert after.cpu_seconds - before.cpu_seconds >= 0.05
    assert 1 << 20 < after.rss_bytes <= after.rss_bytes_max
    assert after.written_bytes is None or after.written_bytes >= (before.written_bytes or 0)


def test_a_name_with_spaces_and_brackets_moves_no_number() -> None:
    program = (
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) S (b 1 2'); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert usage_of(process.pid).cpu_seconds < 60
        process.kill()


def test_a_process_that_is_gone_is_an_error_that_reports_it() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(ProcessLookupError, match="no such process"):
        usage_of(process.pid)

"""`oncegate upload` has a lower priority than the broker for processor and disk."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gateway.uploader.priority import (
    IO_CLASS_BEST_EFFORT,
    IO_LEVEL,
    NICENESS,
    io_priority_of,
)
from tests.system.broker_process import oncegate_command

UNIT = Path(__file__).parents[2] / "image" / "systemd" / "oncegate-upload.service"
DEADLINE_SECONDS = 60.0


@contextmanager
def uploading(data_dir: Path, before: Sequence[str] = ()) -> Iterator[int]:
    """Run `oncegate upload` as a process, and yield its process id after it has begun to export."""
    command = [*before, *oncegate_command(), "upload", "--data-dir", str(data_dir), "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not (data_dir / "log" / "open").exists():
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()
    assert process.returncode == 0


def niceness_of_threads(process_id: int) -> set[int]:
    """Return field 19 of /proc/PID/task/TID/stat, counted from 1.

    The name in field 2 may contain spaces.
    """
    stats = [path.read_text() for path in Path(f"/proc/{process_id}/task").glob("*/stat")]
    return {int(stat.rpartition(")")[2].split()[16]) for stat in stats}


def io_priorities_of_threads(process_id: int) -> set[str]:
    """Return the I/O priorities of a process's threads, as the program ionice shows them."""
    threads = [path.name for path in Path(f"/proc/{process_id}/task").iterdir()]
    return set(
        subprocess.run(
            ["ionice", "-p", *threads], check=True, capture_output=True, text=True, timeout=60
        ).stdout.splitlines()
    )


def test_every_thread_of_the_uploader_comes_after_the_broker_for_processor_and_disk(
    tmp_path: Path,
) -> None:
    with uploading(tmp_path) as process_id:
        assert niceness_of_threads(process_id) == {NICENESS}
        assert io_priorities_of_threads(process_id) == {f"best-effort: prio {IO_LEVEL}"}
        assert io_priority_of(process_id) == (IO_CLASS_BEST_EFFORT, IO_LEVEL)


def test_an_uploader_that_was_started_with_a_lower_priority_keeps_it(tmp_path: Path) -> None:
    with uploading(tmp_path, before=["nice", "-n", "15"]) as process_id:
        assert niceness_of_threads(process_id) == {15}


def test_the_unit_of_systemd_gives_the_same_priorities() -> None:
    found = dict(re.findall(r"^(Nice|IOScheduling\w+)=(.*)$", UNIT.read_text(), re.MULTILINE))
    assert found == {
        "Nice": str(NICENESS),
        "IOSchedulingClass": "best-effort",
        "IOSchedulingPriority": str(IO_LEVEL),
    }

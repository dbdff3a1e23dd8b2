"""Commands of the job in separate processes, as an operator starts them, and how to kill them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from cloud_jobs.distribution import write
from cloud_jobs.spark.jars import JARS, cache_directory
from cloud_jobs.spark.java import SHORT_RUN

ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
SECONDS_MAX = 1_200
EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class Outcome:
    """The exit code, the result and the output of a command."""

    code: int
    result: dict[str, Any]
    printed: str


@dataclass(frozen=True)
class Kill:
    """A kill at the first progress line that contains this string."""

    line: str
    of: Callable[[int], None]


def everything(pid: int) -> None:
    """Kill the driver and its executors."""
    os.killpg(pid, signal.SIGKILL)


def executor(pid: int) -> None:
    """Kill one executor. The driver continues."""
    for process in Path("/proc").iterdir():
        # Any process may exit meanwhile.
        with contextlib.suppress(OSError, ValueError):
            is_ours = os.getpgid(int(process.name)) == pid
            if is_ours and EXECUTOR in (process / "cmdline").read_bytes():
                return os.kill(int(process.name), signal.SIGKILL)
    raise AssertionError("there is no executor")


def submitted(
    directory: Path, master: str, verb: Sequence[str], *, kill: Kill | None = None, **conf: str
) -> Outcome:
    """Run a command with spark-submit, from the .zip and the script of `make cloud-dist`."""
    package, script = write(directory / "dist")
    jars = ",".join(str(cache_directory(None) / "jars" / name) for name in JARS)
    command: list[str | Path] = [
        SPARK_HOME / "bin" / "spark-submit", "--master", master, "--py-files", package,
        "--driver-java-options", SHORT_RUN, "--conf", "spark.ui.enabled=false",
        "--conf", "spark.sql.shuffle.partitions=2", "--jars", jars,
        *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        script, *verb,
    ]  # fmt: skip
    environment = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return _ended(command, directory, environment, kill)


def started(
    verb: Sequence[str], settings: Mapping[str, str], *, kill: Kill | None = None
) -> Outcome:
    """Run a command with its own JVM, as `oncegate` does on one machine."""
    words = {"spark.driver.defaultJavaOptions": f"'{SHORT_RUN}'", **settings}
    submit = " ".join(f"--conf {key}={value}" for key, value in words.items())
    command = [sys.executable, "-m", "cloud_jobs.command", *verb]
    return _ended(command, ROOT, {"PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell"}, kill)


def _ended(
    command: Sequence[str | Path],
    directory: Path,
    environment: Mapping[str, str],
    kill: Kill | None,
) -> Outcome:
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=directory, env={**os.environ, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        too_long = threading.Timer(SECONDS_MAX, everything, [process.pid])
        too_long.start()
        for line in process.stdout:
            lines.append(line)
            if kill is not None and kill.line in line:
                kill.of(process.pid)
                kill = None
        too_long.cancel()
    assert kill is None, f"never came to {kill}: {''.join(lines)}"
    results = [line for line in lines if line.startswith("{")]
    result = json.loads(results[-1]) if results else {}
    return Outcome(process.returncode, result, "".join(lines))

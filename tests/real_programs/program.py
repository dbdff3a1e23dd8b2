"""A program of another project as a process of its own, which can be stopped and started again."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar


class Program:
    """A process in a folder of its own, whose output is appended to a file there."""

    start_seconds_max: ClassVar = 60.0
    deadline_seconds: ClassVar = 60.0
    """Time in which it has to stop, and to do what a test waits for."""

    def __init__(
        self,
        directory: Path,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Create the folder. `environment` is added to PATH and HOME."""
        self.directory = directory
        directory.mkdir()
        self._command = [str(each) for each in command]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            **(environment or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start_until(self, has_started: Callable[[], bool]) -> None:
        """Start the process, and wait until `has_started` returns True."""
        with (self.directory / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=self._environment,
            )
        self.wait_for_condition(has_started, self.start_seconds_max)

    def start_until_printed(self, text: str) -> None:
        """Start the process, and wait until it has printed the text once more than before."""
        count = self.output().count(text) + 1
        self.start_until(lambda: self.output().count(text) >= count)

    def wait_for_condition(self, condition: Callable[[], bool], seconds_max: float) -> None:
        """Wait until the condition holds. The process must not end meanwhile."""
        deadline = time.monotonic() + seconds_max
        while not condition():
            assert self._process is not None
            assert self._process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.05)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the process as a service manager does, or with SIGKILL."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(self.deadline_seconds)
            self._process = None

    def output(self) -> str:
        """Return everything printed so far."""
        path = self.directory / "output"
        return path.read_text(errors="replace") if path.exists() else ""

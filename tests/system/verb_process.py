"""A command of `oncegate` from these sources as a process of its own, with methods to start, stop
and kill it and to read its log."""

import signal
from pathlib import Path

from tests.system.warm_command import WarmProcess

STOP_SECONDS_MAX = 15.0


class VerbProcess:
    """A process of the command `verb`, which has its files in `directory`.

    `settings` is the configuration as TOML.
    """

    def __init__(self, verb: str, directory: Path, settings: str) -> None:
        self._verb = verb
        self._log = directory / f"{verb}.log"
        self._process: WarmProcess | None = None
        self._directory = directory
        self._configuration = directory / f"{verb}.toml"
        self._configuration.write_text(settings)

    def start(self) -> None:
        """Start the process without waiting for anything."""
        assert not self.is_running, f"the {self._verb} of this test runs already"
        with self._log.open("ab") as log:
            self._process = WarmProcess(
                [self._verb, "--config", str(self._configuration)],
                output=log,
                errors=log,
                directory=self._directory,
                environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            )

    @property
    def process_id(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """True while the process is alive."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """Return everything that the process has logged, over all its starts."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def stop(self) -> int:
        """Stop the process with SIGTERM and return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_SECONDS_MAX)

    def kill(self) -> None:
        """Kill the process with SIGKILL, so that it cannot clean up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_SECONDS_MAX)
            self._process = None

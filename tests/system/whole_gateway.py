"""`oncegate up` as a user starts it: every process of the gateway, its data and its page."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloud_jobs.spark.java import SHORT_RUN
from gateway.broker.compiled_core import SWITCH
from tests.system.broker_process import free_port, oncegate_command

START_DEADLINE_SECONDS = 60.0
STOP_DEADLINE_SECONDS = 60.0
# At the first run Spark downloads its Delta connector.
INGEST_DEADLINE_SECONDS = 240.0


class WholeGateway:
    """One `oncegate up` in a temporary directory, which `remove` deletes."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="oncegate-test-"))
        self.data_directory = self.directory / "data"
        self.broker_port = free_port()
        self.page_port = free_port()
        self._configuration: Path | None = None
        self._output_path = self.directory / "output"
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, settings: str) -> None:
        """Write a configuration file with these settings for the next start."""
        self._configuration = self.directory / "gateway.toml"
        self._configuration.write_text(settings)

    def start(self, *options: str, environment: Mapping[str, str] | None = None) -> None:
        """Start everything, and wait until the command prints the addresses."""
        command = [*oncegate_command(), "up", *self._options(), *options]
        said = len(self.output())
        with self._output_path.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env={
                    "PATH": os.environ["PATH"],
                    "LANG": "C.UTF-8",
                    "NO_COLOR": "1",
                    **{name: os.environ[name] for name in (SWITCH,) if name in os.environ},
                    **(environment or {}),
                },
            )
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while "Ctrl-C stops it" not in self.output()[said:]:
            assert self._process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.05)

    def _options(self) -> list[str]:
        options = ["--listen", f"127.0.0.1:{self.broker_port}", "--port", str(self.page_port)]
        options += ["--data-dir", str(self.data_directory)]
        if self._configuration is not None:
            options += ["--config", str(self._configuration)]
        return options

    def stop(self) -> int:
        """Press Ctrl-C and return the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(STOP_DEADLINE_SECONDS)

    def remove(self) -> None:
        """Kill the remaining processes and remove the directory."""
        for process_id in self.process_ids():
            os.kill(process_id, signal.SIGKILL)
        if self._process is not None:
            self._process.wait(STOP_DEADLINE_SECONDS)
        shutil.rmtree(self.directory, ignore_errors=True)

    def process_ids(self) -> list[int]:
        """Return the ids of all processes that were started in the gateway's directory."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    working_directory = (entry / "cwd").readlink()
                except OSError:
                    continue
                if working_directory == self.directory:
                    found.append(int(entry.name))
        return found

    def output(self) -> str:
        """Return everything that the command has printed, over all its starts."""
        if not self._output_path.exists():
            return ""
        return self._output_path.read_text(errors="replace")

    # Pages that a user reads

    def get(self, path: str) -> str:
        """Return the text at a path of the page's port."""
        address = f"http://127.0.0.1:{self.page_port}{path}"
        with urllib.request.urlopen(address, timeout=START_DEADLINE_SECONDS) as answer:
            return str(answer.read().decode())

    def bridge_status(self) -> Any:
        """Return the bridge's latest status, or None before its first report."""
        return json.loads(self.get("/api/v1/serial"))["status"]

    def ingest(self) -> dict[str, int]:
        """Run `oncegate ingest`, and return the number of rows of each table as it printed them."""
        outcome = subprocess.run(
            [*oncegate_command(), "ingest", "--data-dir", str(self.data_directory)],
            capture_output=True,
            timeout=INGEST_DEADLINE_SECONDS,
            check=False,
            cwd=self.directory,
            env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "JDK_JAVA_OPTIONS": SHORT_RUN},
            stdin=subprocess.DEVNULL,
        )
        printed = outcome.stdout.decode()
        assert outcome.returncode == 0, printed + outcome.stderr.decode()
        assert "No gaps" in printed, printed
        return {
            name: int(rows.replace(",", ""))
            for name, rows in re.findall(r"│ (\w+) +│ +([\d,]+) │", printed)
        }

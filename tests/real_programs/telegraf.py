"""A real Telegraf as a process of its own, which writes each reading into a file.

Its configuration is that of docs/telegraf.md, with a port, a QoS and a file of the test.
"""

import json
import re
import time
from pathlib import Path
from typing import Any

from tests.real_programs.program import Program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "real-programs" / "telegraf" / "telegraf"
CONNECT_SECONDS = 2
"""Interval of attempts to connect: Telegraf makes them when the clock shows a multiple of it."""
CONNECTED = "Connected [tcp"
REFUSED = "connect: connection refused"


def settings(port: int, qos: int, file: Path) -> str:
    """Return the documented configuration for this port, QoS and file."""
    page = (ROOT / "docs" / "telegraf.md").read_text()
    found = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text = found[1]
    for documented, used in (
        ('interval = "10s"', f'interval = "{CONNECT_SECONDS}s"\n  flush_interval = "200ms"'),
        ("127.0.0.1:1883", f"127.0.0.1:{port}"),
        ("qos = 2", f"qos = {qos}"),
        ('files = ["stdout"]', f'files = ["{file}"]\n  data_format = "json"'),
    ):
        assert text.count(documented) == 1, documented
        text = text.replace(documented, used)
    return text


class Telegraf(Program):
    """Its session at the broker on `broker_port` outlasts its own restarts."""

    start_seconds_max = deadline_seconds = 90.0

    def __init__(self, directory: Path, broker_port: int, qos: int) -> None:
        super().__init__(directory, [PROGRAM, "--config", "telegraf.conf"])
        self._readings = directory / "readings.jsonl"
        self._readings.touch()
        (directory / "telegraf.conf").write_text(settings(broker_port, qos, self._readings))

    def start(self) -> None:
        """Start it, and wait until it is connected to the broker."""
        self.start_until_printed(CONNECTED)

    def wait_for_output(self, text: str, count: int) -> None:
        """Wait until it has printed the text this number of times."""
        self.wait_for_condition(lambda: self.output().count(text) >= count, self.deadline_seconds)

    def readings(self) -> list[dict[str, Any]]:
        """Return each metric in its file, in the order in which they were written."""
        # The last line may not be complete yet.
        complete = self._readings.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in complete.splitlines()]

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait for this number of different values, and return all metrics."""
        deadline = time.monotonic() + self.deadline_seconds
        while True:
            readings = self.readings()
            if len({each["fields"]["v"] for each in readings}) >= count:
                return readings
            assert time.monotonic() < deadline, f"{len(readings)} of {count}: {self.output()}"
            time.sleep(0.2)

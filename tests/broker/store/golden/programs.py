"""Broker and uploader of any source tree, run as processes on one data directory."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.peers.byte_client import ByteClient
from tests.system.broker_process import free_port

DEADLINE_SECONDS = 30.0
HERE = Path(__file__).resolve().parents[4]

SETTINGS = """\
[gateway]
data_dir = "{data}"
[[listeners]]
bind = "127.0.0.1"
port = {port}
[mqtt]
max_inflight = 2
[access]
password_file = "{users}"
[session_log]
seal_after = "{seal_after}"
[upload]
target = "{target}"
"""

LISTENING = "listening for mqtt"
"""A part of the line that a broker logs when clients can connect."""

AWAY = "file:///nonexistent/target/directory"
"""A target that does not exist, so that sealed segments stay on the device."""


class Programs:
    """The directory, the configuration and the processes of one gateway.

    `source` is the top of the source tree whose programs run; `directory` holds all files.
    """

    def __init__(self, directory: Path, source: Path = HERE) -> None:
        self.data = directory / "data"
        self.users = directory / "users"
        self._configuration = directory / "gateway.toml"
        self._source = source
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._log = directory / "log-of-the-programs"
        self.port = free_port()

    def run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of the tree to its end."""
        return subprocess.run(
            [*self._command(), *arguments],
            input=text,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def start(self, verb: str, *, target: str = "", seal_after: str = "500ms") -> None:
        """Start `broker` or `upload`; an empty `target` means a folder in the data directory."""
        self._configuration.write_text(
            SETTINGS.format(
                data=self.data,
                port=self.port,
                users=self.users,
                seal_after=seal_after,
                target=target or (self.data / "uploaded").as_uri(),
            )
        )
        before = self.output().count(LISTENING)
        with self._log.open("ab") as log:
            self._processes[verb] = subprocess.Popen(
                [*self._command(), verb, "--config", str(self._configuration)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                cwd=self._configuration.parent,
            )
        if verb == "broker":
            # Its port is no sign: the command listens there for a moment to check that it is free.
            self.wait_for(lambda: self.output().count(LISTENING) > before, "the broker listens")

    def stop(self, verb: str, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to a process and wait for its end; return the exit code."""
        process = self._processes.pop(verb)
        process.send_signal(number)
        return process.wait(DEADLINE_SECONDS)

    def remove(self) -> None:
        """Kill all processes that still run."""
        for verb in list(self._processes):
            self.stop(verb, signal.SIGKILL)

    def output(self) -> str:
        """Return the output of all processes."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition on the processes and their files is true."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"expected: {what}; {self.output()[-2000:]}"
            time.sleep(0.02)

    async def client(self, client_id: str, connect: bytes) -> ByteClient:
        """Connect with this CONNECT, which must be accepted; return the client."""
        client = await ByteClient.open(self.port)
        await client.send_all(connect)
        connack = await client.receive()
        assert connack.return_code == 0, f"{client_id}: {connack}"
        client.session_present = connack.session_present
        return client

    async def ask(self, command: str, **arguments: object) -> Any:
        """Send a command to the control socket; return its result."""
        reader, writer = await asyncio.open_unix_connection(str(self.data / "control.sock"))
        writer.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
        answer = json.loads(await reader.readline())
        writer.close()
        assert answer["ok"], answer
        return answer["result"]

    def _command(self) -> list[str]:
        main = "from gateway.cli.main import main; main()"
        return [sys.executable, "-P", "-c", main]

    def _environment(self) -> dict[str, str]:
        paths = f"{self._source}:{self._source / 'firmware-bridge'}"
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": paths}

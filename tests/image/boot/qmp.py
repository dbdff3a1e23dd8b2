"""QEMU's control socket (QMP): one command at a time, as JSON lines in both directions."""

import json
import socket
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS_MAX = 60.0


class Qmp:
    """A connection to QMP as a context manager. QEMU serves one client of its socket at a time."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SECONDS_MAX)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self._events: list[str] = []
        assert "QMP" in self._next()
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """Execute a command, and return QEMU's result. Raises AssertionError with QEMU's error."""
        message = json.dumps({"execute": command, "arguments": arguments})
        self._socket.sendall(message.encode())
        while True:
            answer = self._next()
            if "event" in answer:
                self._events.append(answer["event"])
                continue
            assert "return" in answer, f"{command}: {answer}"
            return answer["return"]

    def wait_for(self, event: str) -> None:
        """Wait until QEMU reports the event, or return if it has done so since the connection
        began."""
        while event not in self._events:
            self._events.append(self._next().get("event", ""))
        self._events.remove(event)

    def _next(self) -> dict[str, Any]:
        line = self._lines.readline()
        assert line, "QEMU has closed its control socket"
        found: dict[str, Any] = json.loads(line)
        return found

    def __enter__(self) -> "Qmp":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._lines.close()
        self._socket.close()

"""The C library in a process under sanitizers, asked a line at a time."""

import subprocess
from pathlib import Path
from types import TracebackType


class BoardProgram:
    """`board_program.c` has the requests. Leaving the block asserts that it ended well."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, request: str) -> str:
        """One request, and its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def poll(self, counter_ms: int) -> bytes:
        """What it writes to the line."""
        return bytes.fromhex(self.ask(f"poll {counter_ms}"))

    def receive(self, counter_ms: int, data: bytes) -> tuple[int, int, int]:
        """How many frames wait, were acknowledged and given up after these bytes."""
        waiting, acknowledged, given_up = self.ask(f"receive {counter_ms} {data.hex()}").split()
        return int(waiting), int(acknowledged), int(given_up)

    def command(self, data: bytes) -> tuple[list[str], bytes]:
        """Which commands were carried out, as `command:argument`, and what it wrote."""
        *words, _, _, _ = self.ask(f"receive 0 {data.hex()}").split()
        written = "".join(word for word in words if ":" not in word)
        return [word for word in words if ":" in word], bytes.fromhex(written)

    def keep(self, counter_ms: int, *records: str) -> int:
        """One frame of these records; each has to be taken."""
        self.ask(f"begin {counter_ms}")
        for record in records:
            assert self.ask(record) == "1", record
        return int(self.ask("keep"))

    def __enter__(self) -> "BoardProgram":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)
        if kind is None:
            assert self._process.returncode == 0

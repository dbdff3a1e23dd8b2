"""The C library for boards, run under sanitizers in a process of its own that answers one request
line at a time."""

import subprocess
from pathlib import Path
from types import TracebackType


class BoardProgram:
    """A running `board_program.c`, where the requests are listed. The block asserts exit code 0."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, request: str) -> str:
        """Send one request and return the answer to it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def poll(self, counter_ms: int) -> bytes:
        """Return the bytes that the board writes to the line at this time."""
        return bytes.fromhex(self.ask(f"poll {counter_ms}"))

    def receive(self, counter_ms: int, data: bytes) -> tuple[int, int, int]:
        """Pass bytes from the line to the board.

        Return how many frames are waiting, acknowledged and given up afterwards.
        """
        waiting, acknowledged, given_up = self.ask(f"receive {counter_ms} {data.hex()}").split()
        return int(waiting), int(acknowledged), int(given_up)

    def command(self, data: bytes) -> tuple[list[str], bytes]:
        """Pass the bytes of commands to the board.

        Return the commands that it carried out, as `command:argument`, and the bytes that it wrote.
        """
        *words, _, _, _ = self.ask(f"receive 0 {data.hex()}").split()
        written = "".join(word for word in words if ":" not in word)
        return [word for word in words if ":" in word], bytes.fromhex(written)

    def keep(self, counter_ms: int, *records: str) -> int:
        """Queue one frame with these records. Asserts that the board accepts each record."""
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

"""The real broker, killed and started again hundreds of times a minute.

Most of a start is Python that imports. One process imports everything once, and each life of the
broker is a fork of it that runs `oncegate broker` from there: its own process with its own files,
sockets and threads, and ended by SIGKILL.

`python -m tests.system.warm_broker ARGUMENTS...` is the process that forks; it takes the lines
`start` and `kill` and answers each with a line.
"""

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time

from tests.system.broker_process import START_DEADLINE_SECONDS, BrokerProcess

IMPORTED = (
    "firmware_bridge.protocols.table",
    "gateway.cli.main",
    "gateway.cli.application",
    "gateway.configuration.checking",
    "gateway.server.main",
)


class WarmBroker(BrokerProcess):
    """As `BrokerProcess`, with `start`, `spawn` and `kill` that take milliseconds."""

    def __init__(self, settings: str | None = None) -> None:
        super().__init__(settings)
        self._readiness = self.notify_socket()
        with self._stderr_path.open("ab") as stderr:
            self._forks = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.system.warm_broker", *self._command()[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={
                    "PATH": "/usr/bin:/bin",
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "NOTIFY_SOCKET": str(self._readiness.getsockname()),
                },
            )
        assert self._answer() == "warm"

    def _answer(self) -> str:
        assert self._forks.stdout is not None
        return self._forks.stdout.readline().decode().strip()

    def _ask(self, line: str) -> str:
        assert self._forks.stdin is not None
        self._forks.stdin.write(line.encode() + b"\n")
        self._forks.stdin.flush()
        return self._answer()

    def begin(self) -> None:
        """Start the broker and wait for nothing."""
        self._readiness.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:  # what lives before said
                self._readiness.recv(4096)
        self._readiness.settimeout(0.1)
        assert self._ask("start") == "started"

    def await_readiness(self) -> None:
        """Wait for READY=1 of the life that was begun."""
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self._readiness.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                assert self._ask("look") == "alive", self.standard_error()
        raise AssertionError(f"the broker did not become ready: {self.standard_error()}")

    def strike(self) -> None:
        """Kill it with SIGKILL."""
        assert self._ask("kill") == "killed", self.standard_error()

    def stop(self) -> int:
        """Stop it with SIGTERM; its exit code."""
        return int(self._ask("stop"))

    def cool_down(self) -> None:
        """End the process that forks; the broker has been killed, or goes on as another one."""
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.close()
        self._forks.wait()
        self._forks.stdout.close()
        self._readiness.close()

    def remove(self) -> None:
        """End everything and remove the directory."""
        if self._forks.poll() is None:
            self.cool_down()
        super().remove()


def _serve(arguments: list[str]) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    child = 0
    print("warm", flush=True)
    for line in sys.stdin:
        if line == "start\n":
            child = os.fork()
            if not child:
                _become_broker(arguments)
            print("started", flush=True)
        elif line == "look\n":
            print("alive" if os.waitpid(child, os.WNOHANG) == (0, 0) else "ended", flush=True)
        elif line == "stop\n":
            os.kill(child, signal.SIGTERM)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            child = 0
        else:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            child = 0
            print("killed" if killed else f"had ended: {status}", flush=True)
    if child:
        os.kill(child, signal.SIGKILL)


def _become_broker(arguments: list[str]) -> None:
    """Run the command as its own process does, and end with it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    sys.argv = ["oncegate", *arguments]
    code = 1
    try:
        importlib.import_module("gateway.cli.main").main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1:])

"""`oncegate` in processes that need not import it, because each is a fork of a process that has
imported it.

Most of a start is spent on importing Python, and hundreds of tests start the command. The forking
process has imported the modules that the commands need, and has done nothing else. A fork is given
arguments, environment, directory and open files. It runs the command's `main` with its own files,
sockets and threads, and exits like any interpreter. Tests of the start itself start the command as
users do.

`python -P -m tests.system.warm_command FD` is the forking process. FD is a socket for JSON
messages: the response to a start is the process id, and the response to a query is the exit code,
or null while the process runs.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

MESSAGE_BYTES_MAX = 1 << 18
"""Largest message. Arguments and environment of a start take a few thousand bytes."""

OF_EVERY_VERB = (
    "gateway.cli.main",
    "gateway.cli.application",
    "gateway.configuration.checking",
    "firmware_bridge.protocols.table",
)
OF_A_VERB = {
    "broker": ("gateway.broker.server.main", "gateway.broker.store.schema"),
    "bridge": ("firmware_bridge.main", "firmware_bridge.outbox.schema"),
    "uplink": ("gateway.uplink.main", "gateway.uplink.schema"),
    "upload": ("gateway.uploader.main",),
    "api": ("api.main",),
}


class _Forks:
    """The forking process that belongs to this process of the tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.system.warm_command", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[other.fileno()],
            )

    def ask(self, question: Mapping[str, object], files: Sequence[int] = ()) -> Any:
        """Send a message together with open files, and return the response."""
        with self._lock:
            socket.send_fds(self._channel, [json.dumps(question).encode()], list(files))
            answer = self._channel.recv(MESSAGE_BYTES_MAX)
        assert answer, "the process that forks has ended"
        return json.loads(answer)


@functools.cache
def _forks() -> _Forks:
    return _Forks()


class WarmProcess:
    """`oncegate ARGUMENTS` as a process of its own, with the methods of `subprocess.Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        output: IO[Any],
        errors: IO[Any],
        directory: Path,
        environment: Mapping[str, str],
        standard_input: IO[Any] | None = None,
    ) -> None:
        self.args = ["oncegate", *arguments]
        self.returncode: int | None = None
        start = {
            "start": list(arguments),
            "environment": dict(environment),
            "directory": str(directory),
        }
        with contextlib.ExitStack() as closing:
            given = standard_input or closing.enter_context(open(os.devnull, "rb"))
            files = [each.fileno() for each in (given, output, errors)]
            self.pid: int = _forks().ask(start, files)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        if self.returncode is None:
            self.returncode = _forks().ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            # The process keeps its id until the exit code is queried, so the id cannot belong to
            # another one.
            ending = os.pidfd_open(self.pid)
            waiting = select.poll()
            waiting.register(ending, select.POLLIN)
            try:
                ended = waiting.poll(None if timeout is None else timeout * 1000)
            finally:
                os.close(ending)
            if not ended:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.send_signal(signal.SIGKILL)


def run(
    arguments: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    standard_input: str = "",
    seconds_max: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run `oncegate ARGUMENTS` until it exits.

    Raises subprocess.TimeoutExpired and kills it after `seconds_max`.
    """
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryFile("w+") as errors,
    ):
        given.write(standard_input)
        given.seek(0)
        process = WarmProcess(
            arguments,
            output=output,
            errors=errors,
            directory=directory,
            environment=environment,
            standard_input=given,
        )
        try:
            code = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(process.args, code, output.read(), errors.read())


def _forked(channel: socket.socket) -> list[str]:
    """Serve requests until the tests end. In each fork, return the fork's arguments instead."""
    while True:
        message, files, _, _ = socket.recv_fds(channel, MESSAGE_BYTES_MAX, 3)
        if not message:
            os._exit(0)
        asked = json.loads(message)
        if "ended" in asked:
            process_id, status = os.waitpid(asked["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if process_id else None
        else:
            arguments: list[str] = asked["start"]
            for name in OF_A_VERB.get(arguments[0] if arguments else "", ()):
                importlib.import_module(name)
            gc.freeze()
            answer = os.fork()
            if not answer:
                channel.close()
                _become(asked, files)
                return arguments
            for each in files:
                os.close(each)
        channel.send(json.dumps(answer).encode())


def _become(asked: dict[str, Any], files: list[int]) -> None:
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])


def _main() -> None:
    for name in OF_EVERY_VERB:
        importlib.import_module(name)
    sys.argv[1:] = _forked(socket.socket(fileno=int(sys.argv[1])))
    importlib.import_module("gateway.cli.main").main()


if __name__ == "__main__":
    _main()

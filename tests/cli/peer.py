"""The broker's end of the control socket, which responds as a test has recorded.

It runs in a thread, unlike `tests.peers.control_server`, because the tests of commands have no
event loop.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.peers.control_server import result

Answer = Callable[[dict[str, Any]], bytes]


class Peer:
    """A Unix socket on which a thread responds to each line with the result of `answer`."""

    def __init__(self, directory: Path) -> None:
        self.questions: list[dict[str, Any]] = []
        self.answer: Answer = lambda question: result({})
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(directory / "control.sock"))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    question = json.loads(line)
                    self.questions.append(question)
                    # A client that has stopped waiting may have closed its end.
                    with contextlib.suppress(BrokenPipeError):
                        connection.sendall(self.answer(question))

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


SESSION = {
    "client_id": "probe\x1b[31m-1",
    "session": 5,
    "connected": True,
    "clean": False,
    "protocol": 4,
    "address": "127.0.0.1:53122",
    "inflight": 1,
    "awaiting_release": 0,
    "queued_messages": 3,
    "dropped_messages": 0,
    "received_messages": 12,
    "delivered_messages": 40,
    "subscriptions": [{"filter": "[bold]a/#", "qos": 2}],
}

"""An object store with the S3 protocol and with faults on loopback: moto in a separate process.

A proxy in front of it can delay responses, fail requests, or cut responses off. S3 clients must
retry these requests.
"""

from __future__ import annotations

import enum
import http.client
import itertools
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PYTHON = Path(sys.prefix) / "object-store" / "bin" / "moto_server"
START_SECONDS_MAX = 60
BUCKET = "fleet"


class Fault(enum.Enum):
    """The failure of a request."""

    BUSY = "503"
    BROKEN = "500"
    CUT = "cut"
    """The request is done, but only half of the response arrives.

    The client cannot know the result.
    """
    LOST = "lost"
    """The connection ends without a response, and the request is not done."""


class Store:
    """The server's address and its faults, which tests may change at any time."""

    def __init__(self, port: int) -> None:
        self.moto_port = port
        self.fail_every = 0
        """Every n-th request fails; 0 means none."""
        self.faults: tuple[Fault, ...] = (Fault.BUSY,)
        """The failures, used alternately."""
        self.delay_seconds = 0.0
        self.failures = 0
        self.on_put: Callable[[str], Fault | None] = lambda _: None
        """Called with the key of each PUT before it is done. Returns the failure, if any."""
        self._requests = itertools.count(1)
        handler = type("Handler", (_Handler,), {"store": self})
        self.proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self.proxy.server_address[1]}"

    def _turn(self) -> Fault | None:
        number = next(self._requests)
        time.sleep(self.delay_seconds)
        if not self.fail_every or number % self.fail_every:
            return None
        self.failures += 1
        return self.faults[self.failures % len(self.faults)]

    def fault_of(self, command: str, path: str) -> Fault | None:
        """Return the failure of a request, or None if it succeeds."""
        found = self.on_put(path.removeprefix(f"/{BUCKET}/")) if command == "PUT" else None
        return found or self._turn()

    def get(self, key: str) -> bytes:
        address = f"http://127.0.0.1:{self.moto_port}/{BUCKET}/{key}"
        with urllib.request.urlopen(address, timeout=120) as answer:
            content: bytes = answer.read()
        return content

    def put(self, key: str, content: bytes) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.moto_port}/{BUCKET}/{key}", data=content, method="PUT",
            # An anonymous request may not replace an object; moto does not check the signature.
            headers={"Content-Type": "application/octet-stream", "Authorization": "AWS any:any"},
        )  # fmt: skip
        urllib.request.urlopen(request, timeout=120).close()  # noqa: S310

    @property
    def spark_settings(self) -> dict[str, str]:
        """The settings of Hadoop's file system."""
        return {
            f"spark.hadoop.fs.s3a.{key}": value
            for key, value in {
                "endpoint": self.endpoint,
                "endpoint.region": "us-east-1",
                "path.style.access": "true",
                "access.key": "test",
                "secret.key": "test",
                "connection.ssl.enabled": "false",
            }.items()
        }

    @property
    def deltalake_options(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A response is two writes: the second would wait 40 ms for the delayed ACK of the first.
    disable_nagle_algorithm = True
    store: Store

    def _forward(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        fault = self.store.fault_of(self.command, self.path)
        if fault in (Fault.BUSY, Fault.BROKEN):
            self.send_response(int(fault.value))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if fault is Fault.LOST:
            self.close_connection = True
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.store.moto_port, timeout=60)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = answer.read()
        if fault is Fault.CUT and self.command == "HEAD":
            # A HEAD response has no body to cut, and a wrong length would not break the connection.
            self.close_connection = True
            return
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        if fault is Fault.CUT:
            size, content = str(int(size or 0) + 1), content[: len(content) // 2]
            self.close_connection = True
        self.send_header("Content-Length", size or "0")
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward

    def log_message(self, *_: object) -> None:
        """Do not print requests."""


@contextmanager
def object_store() -> Iterator[Store]:
    """Yield a server with an empty bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [PYTHON, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = Store(port)
    thread = threading.Thread(target=store.proxy.serve_forever, daemon=True)
    thread.start()
    try:
        _make_bucket(store)
        yield store
    finally:
        store.proxy.shutdown()
        store.proxy.server_close()
        process.terminate()
        process.wait()


def _make_bucket(store: Store) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            return store.put("", b"")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)

"""A bucket on loopback with the PUT, HEAD and GET of S3, and with faults on demand.

The server receives real HTTP from the real client library. It does not check signatures; the real
stores do.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"  # noqa: S105 - opens nothing


class Bucket:
    """Objects by path, requests in order, and the faults that a test has set."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.refuse_put_with: int | None = None
        self.refusal = f"<Error>token={SECRET}</Error>".encode()
        self.checksums: list[str | None] = []
        self.refuse_look_with: int | None = None
        self.cut_put = False
        self.is_md5_etag = True
        self.port = 0

    def e_tag_of(self, data: bytes) -> str:
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        return f'"{digest}"' if self.is_md5_etag else '"opaque-7"'

    def puts(self) -> list[str]:
        return [path for method, path in self.requests if method == "PUT"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing to stderr."""

    def do_PUT(self) -> None:
        bucket = self.bucket
        data = self.rfile.read(int(self.headers["Content-Length"]))
        bucket.requests.append(("PUT", self.path))
        if bucket.refuse_put_with is not None:
            self._answer(bucket.refuse_put_with, bucket.refusal)
            return
        checksum = self.headers.get("x-amz-checksum-sha256")
        bucket.checksums.append(checksum)
        assert checksum is None or base64.b64decode(checksum) == hashlib.sha256(data).digest()
        bucket.objects[self.path] = data[:-1] if bucket.cut_put else data
        self._answer(200, b"", e_tag=bucket.e_tag_of(bucket.objects[self.path]))

    def do_HEAD(self) -> None:
        self._look()

    def do_GET(self) -> None:
        self._look()

    def _look(self) -> None:
        bucket = self.bucket
        bucket.requests.append((self.command, self.path))
        if bucket.refuse_look_with is not None:
            self._answer(bucket.refuse_look_with, b"")
        elif self.path in bucket.objects:
            data = bucket.objects[self.path]
            self._answer(200, data, e_tag=bucket.e_tag_of(data))
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def _answer(self, status: int, body: bytes, *, e_tag: str | None = None) -> None:
        self.send_response(status)
        if e_tag is not None:
            self.send_header("ETag", e_tag)
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def served_bucket(environment: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Run a bucket, and set the environment so that S3 clients of this process use it."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    bucket.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    environment.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{bucket.port}")
    environment.setenv("AWS_ALLOW_HTTP", "true")
    environment.setenv("AWS_REGION", "eu-central-1")
    environment.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

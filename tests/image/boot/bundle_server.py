"""A web server on the host for update bundles: HTTPS with range requests, which rauc uses."""

import contextlib
import re
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.image.boot.machine import HOST, HOST_PORT, Machine

ADDRESS = f"https://{HOST}:{HOST_PORT}/update.raucb"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


class BundleServer:
    """An HTTPS server for one bundle on loopback. `requests` counts the range requests."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self.requests = 0
        self._bundle = bundle
        self._certificate, key = folder / "server.pem", folder / "server-key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "7300",
             "-subj", "/CN=bundles", "-addext", f"subjectAltName=IP:{HOST}",
             "-keyout", key, "-out", self._certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever)

    def trust(self, machine: Machine) -> None:
        """Make the guest trust the server's certificate, in addition to the authorities that it
        trusts anyway."""
        certificate = self._certificate.read_text()
        machine.run(
            f"cp {AUTHORITIES} /run/authorities && echo '{certificate}' >>/run/authorities && "
            f"mount --bind /run/authorities {AUTHORITIES}"
        )

    def __enter__(self) -> "BundleServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(30)
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server, bundle = self, self._bundle

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                size_bytes = bundle.stat().st_size
                asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
                first = int(asked[1]) if asked else 0
                last = min(int(asked[2] or size_bytes) if asked else size_bytes, size_bytes - 1)
                self.send_response(HTTPStatus.PARTIAL_CONTENT if asked else HTTPStatus.OK)
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Length", str(last - first + 1))
                if asked:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{size_bytes}")
                self.end_headers()
                # rauc's first request has no range: it only reads the size from the header, then
                # disconnects.
                with contextlib.suppress(OSError), bundle.open("rb") as file:
                    file.seek(first)
                    server.requests += bool(asked)
                    for piece in _pieces(last - first + 1):
                        self.wfile.write(file.read(piece))

            def log_message(self, *_: object) -> None:
                """Write no log: the tests read `requests`."""

        return Handler


def _pieces(length: int) -> Iterator[int]:
    while length:
        piece = min(length, 1 << 16)
        yield piece
        length -= piece

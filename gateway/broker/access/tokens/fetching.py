"""Functions that fetch an identity provider's documents over HTTP, or read them from a file.

The functions limit the size of a document and the time for fetching it. They block, so call them in
a thread.
"""

import json
import ssl
import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

from gateway.process.files.disk_errors import line_of

DOCUMENT_BYTES_MAX: Final = 262_144
"""Size of a document, at most. The keys of a large provider have about 10 KiB."""

CHUNK_BYTES: Final = 16_384


class NotFetched(Exception):
    """Error raised if a document could not be fetched. The message states the reason."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """URL handler that rejects redirects, because a redirect could lead from TLS to plain HTTP.

    The configuration must contain the final URL.
    """

    def redirect_request(  # noqa: PLR0917 - as the library calls it
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


class Fetcher:
    """HTTP client that fetches one identity provider's documents, with a timeout."""

    def __init__(self, timeout_seconds: float, ca: Path | None = None) -> None:
        """Load the CA file, or use the system's CAs if `ca` is None.

        Raises NotFetched if the file cannot be used.
        """
        self._timeout_seconds = timeout_seconds
        try:
            context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except OSError as error:
            raise NotFetched(f"{ca}: no certificates of authorities: {line_of(error)}") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=context)
        )

    def fetch(self, url: str) -> dict[str, Any]:
        """Fetch a JSON object from an HTTP or HTTPS URL. Raises NotFetched if this fails."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise NotFetched(f"{url}: expected http or https")
        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310
        deadline = time.monotonic() + self._timeout_seconds
        try:
            with self._opener.open(request, timeout=self._timeout_seconds) as response:
                return _object_of(_read(response, deadline, url), url)
        except urllib.error.HTTPError as error:
            error.close()
            raise NotFetched(f"{url}: answered {error.code}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotFetched(f"{url}: {error or type(error).__name__}") from None


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises NotFetched if the file cannot be used."""
    try:
        with path.open("rb") as file:
            content = file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise NotFetched(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > DOCUMENT_BYTES_MAX:
        raise NotFetched(f"{path}: longer than {DOCUMENT_BYTES_MAX} bytes")
    return _object_of(content, str(path))


def _read(response: HTTPResponse, deadline: float, url: str) -> bytes:
    content = b""
    while chunk := response.read1(CHUNK_BYTES):
        content += chunk
        if len(content) > DOCUMENT_BYTES_MAX:
            raise NotFetched(f"{url}: longer than {DOCUMENT_BYTES_MAX} bytes")
        # The socket's own timeout starts again with each byte.
        if time.monotonic() > deadline:
            raise NotFetched(f"{url}: timed out")
    return content


def _object_of(content: bytes, source: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise NotFetched(f"{source}: is not JSON") from None
    if not isinstance(found, dict):
        raise NotFetched(f"{source}: is no JSON object")
    return found

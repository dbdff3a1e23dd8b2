"""Responses without compression for clients that refuse gzip."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from api.preferences import preference_for


class RefusedGzip:
    """ASGI middleware that hides Accept-Encoding from the compression if it refuses gzip.

    Starlette's `GZipMiddleware` compresses whenever the header contains the word `gzip`, so also
    for ``gzip;q=0``.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            accepted = Headers(scope=scope).get("accept-encoding", "")
            if not preference_for("gzip", accepted).quality:
                scope = {**scope, "headers": [*scope["headers"]]}
                del MutableHeaders(scope=scope)["accept-encoding"]
        await self._app(scope, receive, send)

"""Adds ETags to the REST interface's JSON responses, and sends status 304 for unchanged ones.

A program that polls receives a body only if the body has changed. The response is still computed
each time. This is cheap, because the broker is queried at most four times a second. Browsers do not
store responses on disk (`no-store`). Source: RFC 9110, 8.8.3 and 13.1.2.
"""

import hashlib
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFIX: Final = "/api/v1/"


class ConditionalGet:
    """ASGI middleware that adds an ETag, and sends status 304 instead of an unchanged response.

    It processes a response before the response is compressed. The ETag therefore does not depend on
    the compression.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if is_get and scope["path"].startswith(_PREFIX):
            known = Headers(scope=scope).getlist("if-none-match")
            send = _Answer(send, ",".join(known)).send
        await self._app(scope, receive, send)


class _Answer:
    """A response that is being sent. An ETag is added only to a JSON response with status 200."""

    def __init__(self, send: Send, known: str) -> None:
        self._send = send
        # [RFC 9110, 8.8.3.2] the comparison is weak: a proxy may have removed the prefix W/.
        self._known = {each.strip().removeprefix("W/") for each in known.split(",")}
        self._start: Message | None = None
        """The start message of a response whose body has not arrived yet."""

    async def send(self, message: Message) -> None:
        """Process an ASGI message of the response.

        The application calls this method instead of the server's own `send`.
        """
        if message["type"] == "http.response.start" and _is_json(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        elif message.get("more_body"):
            start, self._start = self._start, None
            await self._send(start)
            await self._send(message)
        else:
            await self._finish(self._start, message)

    async def _finish(self, start: Message, message: Message) -> None:
        """Send a complete response with an ETag.

        If the client already has this body, send status 304 instead.
        """
        digest = hashlib.blake2b(message.get("body", b""), digest_size=12).hexdigest()
        tag = f'"{digest}"'
        headers = MutableHeaders(scope=start)
        headers["ETag"] = f"W/{tag}"
        if tag in self._known or "*" in self._known:
            del headers["content-length"], headers["content-type"]
            start, message = {**start, "status": 304}, {**message, "body": b""}
        await self._send(start)
        await self._send(message)


def _is_json(start: Message) -> bool:
    media_type = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and media_type.startswith("application/json")

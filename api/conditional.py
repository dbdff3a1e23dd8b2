"""ETag and 304 for the JSON of the REST interface: a program that polls fetches what has changed.

The answer is made in any case, because the broker is asked at most four times a second, but not
sent. Browsers keep nothing of it on disk (`no-store`). RFC 9110 8.8.3 and 13.1.2.
"""

import hashlib
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFIX: Final = "/api/v1/"


class ConditionalGet:
    """ASGI middleware. It is below compression, so that the tag is that of the text itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if is_get and scope["path"].startswith(_PREFIX):
            known = Headers(scope=scope).get("if-none-match", "")
            send = _Answer(send, known).send
        await self._app(scope, receive, send)


class _Answer:
    """One answer on its way. What is no JSON with status 200 is passed through."""

    def __init__(self, send: Send, known: str) -> None:
        self._send = send
        self._known = [each.strip() for each in known.split(",")]
        self._start: Message | None = None
        """The start of an answer whose body is awaited."""

    async def send(self, message: Message) -> None:
        """Take a message from the application."""
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
        """Send a whole answer with its tag, or 304 to those who have it."""
        digest = hashlib.blake2b(message.get("body", b""), digest_size=12).hexdigest()
        tag = f'W/"{digest}"'
        headers = MutableHeaders(scope=start)
        headers["ETag"] = tag
        if tag in self._known or "*" in self._known:
            del headers["content-length"], headers["content-type"]
            start, message = {**start, "status": 304}, {**message, "body": b""}
        await self._send(start)
        await self._send(message)


def _is_json(start: Message) -> bool:
    media_type = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and media_type.startswith("application/json")

"""What stands between the network and the endpoints: headers, HEAD, and who may ask by what name.

Promise: every response of the application, errors included, carries the security headers;
HEAD answers as GET without the body; and a page of another site cannot read this one by pointing
its own name at this machine (DNS rebinding).
"""

import ipaddress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import limits
from api.problems import problem_response

# Nothing from elsewhere, nothing inline, no frame around the page, no form, no base.
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Shield:
    """ASGI middleware, the outermost one."""

    def __init__(self, app: ASGIApp, *, loopback_only: bool) -> None:
        self._app = app
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"

        async def send_shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        if self._loopback_only and not is_own_name(Headers(scope=scope).get("host", "")):
            app: ASGIApp = problem_response(
                421,
                "This page listens on this machine only, and was asked for under a name that is "
                "not this machine's.",
                mend="Use http://127.0.0.1 or http://localhost with the same port; let a reverse "
                "proxy send `Host: localhost`.",
            )
        else:
            app = self._app
        await app({**scope, "method": "GET"} if head else scope, receive, send_shielded)


def is_own_name(host: str) -> bool:
    """Return whether a Host header has an address or localhost: DNS cannot point these here."""
    if len(host) > limits.HOST_CHARACTERS_MAX:
        return False
    name = host.rpartition(":")[0] if _has_port(host) else host
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    if name.lower().rstrip(".") == "localhost" or name.lower().endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(bind: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind.lower() == "localhost"


def _has_port(host: str) -> bool:
    _, colon, port = host.rpartition(":")
    return bool(colon) and port.isdecimal() and (host.startswith("[") or host.count(":") == 1)

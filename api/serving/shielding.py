"""Protection for all routes: security headers, HEAD requests, and a check of the host name.

Every response of the application, including errors, has the security headers. A HEAD request gets
the same response as a GET request, without the body. The check of the host name prevents DNS
rebinding. In this attack, a malicious site makes its own name resolve to this machine, so that its
scripts can read these pages.
"""

import ipaddress
import socket
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import limits
from api.problems import problem_response
from api.serving.error_handlers import problem_page, wants_page

_ASSETS: Final = "/assets/"
"""Path of the style sheet and script, which the page about an unknown host name needs as well."""

# Nothing from other sites, nothing inline, no frames, no forms sent elsewhere, no base element.
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Shield:
    """ASGI middleware that protects all routes. It must be the outermost layer."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        is_answered = False

        async def send_shielded(message: Message) -> None:
            nonlocal is_answered
            if is_answered:
                return
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            elif head and message["type"] == "http.response.body":
                # A complete response also ends a stream, which would hold a place for a minute.
                message, is_answered = {"type": message["type"], "body": b""}, True
            await send(message)

        headers = Headers(scope=scope)
        app = self._refusal_of(scope, headers) or self._app
        await app({**scope, "method": "GET"} if head else scope, receive, send_shielded)

    def _refusal_of(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        """Return the response to a request for another host, or None if the request is for us."""
        names = headers.getlist("host")
        if len(names) > 1:
            # RFC 9112, 3.2: a proxy may have routed the request by the other one.
            return problem_response(400, "The request has more than one Host header.")
        if scope["path"].startswith(_ASSETS):
            return None
        if not names and scope["http_version"] == "1.0":
            return None  # A health check of a load balancer. Every browser sends the header.
        if is_own_name(headers.get("host", ""), self._hosts | own_names()):
            return None
        return _misdirected(scope["path"], headers)


def _misdirected(path: str, headers: Headers) -> ASGIApp:
    """Return an ASGI application that responds with status 421 (unknown host name)."""
    name = headers.get("host", "")[: limits.SHOWN_CHARACTERS_MAX]
    detail = f"This gateway does not know itself by the name {name!a}."
    fix = (
        "Use its address, or add the name to `[api] hosts`. On the gateway itself, use localhost. "
        "A reverse proxy may send `Host: localhost`."
    )
    if wants_page(path, headers):
        return problem_page(421, detail, fix, gateway=socket.gethostname())
    return problem_response(421, detail, fix=fix)


def own_names() -> frozenset[str]:
    """Return this machine's own host names, in lower case. The names can change at any time."""
    name = socket.gethostname().lower()
    return frozenset((name, f"{name}.local"))


def is_own_name(host: str, hosts: Collection[str] = ()) -> bool:
    """Return True if a Host header is an IP address, localhost, or one of the names in `hosts`.

    An attacker's website cannot have any of these names.
    """
    if len(host) > limits.HOST_CHARACTERS_MAX:
        return False
    name = host.rpartition(":")[0] if _has_port(host) else host
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    lowered = name.lower().rstrip(".")
    if lowered == "localhost" or name.lower().endswith(".localhost") or lowered in hosts:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(bind: str) -> bool:
    """Return True if `bind` is an address that only this machine can reach."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind.lower() == "localhost"


def _has_port(host: str) -> bool:
    _, colon, port = host.rpartition(":")
    return bool(colon) and port.isdecimal() and (host.startswith("[") or host.count(":") == 1)

"""Parses forms from browsers, with limits on size and time. Rejects forms from other sites.

A form is accepted only if its ``Origin`` header names this server, and if the form contains the
token that this server has put into it. The ``SameSite`` attribute of the login cookie also protects
against forms from other sites. Each of these measures alone would be enough. All of them are used,
because an old browser, a proxy or a bug can disable one.
"""

import asyncio
import hmac
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from starlette.requests import ClientDisconnect

from api import limits

_TYPE = "application/x-www-form-urlencoded"


class FormRefused(Exception):
    """Error that is raised if a form is rejected.

    The message is a sentence for the person who sent the form.
    """

    def __init__(self, reason: str, status_code: int) -> None:
        super().__init__(reason)
        self.status_code = status_code


async def form_of(request: Request, hosts: Collection[str]) -> Mapping[str, str]:
    """Read a form that was sent from one of our own pages.

    `hosts` are additional host names of this server.

    Raises:
        FormRefused: another site's page sent the form, or the form is too long, invalid or slow.
    """
    refuse_foreign(request, hosts)
    body = await body_of(request, _TYPE)
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=limits.FORM_FIELDS_MAX,
            errors="strict",
        )
    except ValueError:
        raise FormRefused("The form cannot be read.", 400) from None
    return dict(fields)


async def body_of(request: Request, media_type: str) -> bytes:
    """Read the body of a request, with limits on size and time.

    Raises:
        FormRefused: the body has another media type, is too long, or did not arrive in time.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise FormRefused(f"This has to be sent as {media_type}.", 415)
    try:
        async with asyncio.timeout(limits.FORM_SECONDS_MAX):
            return await _body_of(request)
    except (TimeoutError, ClientDisconnect):
        raise FormRefused("The form did not come to its end in time.", 408) from None


def is_same_secret(one: str | None, other: str | None) -> bool:
    """Compare two secrets in constant time. The result is False if a secret is None or empty."""
    if not one or not other:
        return False
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def is_from_https(request: Request) -> bool:
    """Return True if the browser that sent a request uses HTTPS, directly or through a proxy."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.startswith("https://")


def local_path_of(wanted: str) -> str:
    """Return the path to which a browser is redirected after a login.

    The result is `wanted` if this is a path on this server. Otherwise, it is `/`.
    """
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    if is_local and len(wanted) <= limits.NEXT_CHARACTERS_MAX and wanted.isascii():
        is_printable = all("!" <= character <= "~" for character in wanted)
        if is_printable and "\\" not in wanted:
            return wanted
    return "/"


def refuse_foreign(request: Request, hosts: Collection[str]) -> None:
    """Reject a request that a browser sends from a page of another site.

    `hosts` are additional host names of this server.

    Raises:
        FormRefused: the request comes from another site.
    """
    origin = request.headers.get("origin", "")
    try:
        page = urlsplit(origin)
        is_ours = page.scheme in ("http", "https") and (
            page.netloc.lower() == request.headers.get("host", "").lower()
            or (page.hostname or "") in hosts
        )
    except ValueError:
        is_ours = False
    if request.url.scheme == "https" and not origin.startswith("https://"):
        is_ours = False
    if not is_ours:
        raise FormRefused(
            "This form was sent by a page of another address. Behind a proxy, the name that you "
            "see in the browser has to be in [api] hosts.",
            403,
        )


async def _body_of(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.FORM_BYTES_MAX:
            raise FormRefused("The form is too long.", 413)
    return body

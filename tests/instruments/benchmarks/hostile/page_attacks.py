"""Attacks on the status page, from other loopback addresses than those of honest visitors."""

import asyncio
import re
from itertools import cycle
from typing import Final
from urllib.parse import urlencode

from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Wire
from tests.instruments.benchmarks.hostile.memory import Allowance

SOURCES: Final = ("127.0.0.2", "127.0.0.3")
FORM_PARTS_MAX: Final = 8
"""Reads within which the login form has arrived."""
BODY_BYTES: Final = 4_000_000


def request(hand: Hand, first: str, *headers: str, body: str = "") -> bytes:
    """Return an HTTP request to the page."""
    host = f"127.0.0.1:{hand.target.page_port}"
    lines = [first, f"Host: {host}", f"Origin: http://{host}", *headers]
    if body:
        lines += [
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
        ]
    return "\r\n".join([*lines, "", body]).encode()


async def ask(hand: Hand, source: str, data: bytes) -> Wire | None:
    """Send a request to the page, wait for the response, and count its status."""
    wire = await hand.open(hand.target.page_port, source=source)
    if wire is None:
        return None
    wire.received = bytearray()
    wire.send(data)
    await wire.answer()
    note(hand, wire)
    return wire


def note(hand: Hand, wire: Wire) -> None:
    """Count the status of a response, or a close without a response."""
    status = wire.head.split(b" ", 2)[1:2]
    hand.answers[f"HTTP {status[0].decode()}" if status else "no response"] += 1


class HalfRequests(Attack):
    """HTTP requests that never end."""

    name = "incomplete requests to the page"
    sentence = (
        "100 connections per second to the page from two addresses. A third send an incomplete "
        "request, a third send one byte per second, and a third send nothing."
    )
    allowance = Allowance()
    counters = ("closed connections",)

    async def run(self, hand: Hand) -> None:
        """Send half requests, single bytes, or nothing, and keep the connections open."""
        half = request(hand, "GET / HTTP/1.1")[:-20]
        dripping: dict[Wire, int] = {}
        drip = asyncio.create_task(self._drip(half, dripping))
        try:
            async for number in hand.paced(100):
                wire = await hand.open(hand.target.page_port, source=SOURCES[number % 2])
                if wire is not None and number % 3 == 1:
                    wire.send(half)
                elif wire is not None and number % 3 == 2:
                    dripping[wire] = 0
        finally:
            drip.cancel()

    async def _drip(self, half: bytes, sent: dict[Wire, int]) -> None:
        while True:
            for wire, place in sent.items():
                wire.send(half[place : place + 1])
                sent[wire] = place + 1
            await asyncio.sleep(1)


class WrongPageLogins(Attack):
    """Passwords guessed at the page."""

    name = "wrong passwords at the page"
    sentence = "10 logins per second at the page with a wrong password, from two addresses."
    allowance = Allowance(bounds=("password checks",))
    counters = ("HTTP 403", "HTTP 503")

    async def run(self, hand: Hand) -> None:
        """Fetch the login form and send it, for several logins concurrently."""
        async with asyncio.TaskGroup() as logins:
            async for number in hand.paced(10):
                logins.create_task(self._log_in(hand, SOURCES[number % 2], number))

    async def _log_in(self, hand: Hand, source: str, number: int) -> None:
        wire = await hand.open(hand.target.page_port, source=source)
        if wire is None:
            return
        wire.received = bytearray()
        wire.send(request(hand, "GET /login HTTP/1.1"))
        for _ in range(FORM_PARTS_MAX):
            await wire.answer()
            text = wire.received.decode()
            token = re.search(r'name="token" value="([^"]+)"', text)
            cookie = re.search(r"set-cookie: ([^;]+)", text, re.IGNORECASE)
            if wire.closed.is_set() or (token and cookie):
                break
        if token and cookie:
            fields = {"username": "known", "password": f"guess{number}", "token": token[1]}
            body = urlencode(fields | {"next": "/"})
            wire.head = b""
            wire.send(request(hand, "POST /login HTTP/1.1", f"Cookie: {cookie[1]}", body=body))
            await wire.answer()
            note(hand, wire)
        wire.cut()


class WrongPageTokens(Attack):
    """Tokens guessed at the REST interface."""

    name = "invalid tokens at the REST interface"
    sentence = (
        "50 requests per second to the REST interface from two addresses, with a token that is "
        "wrong, empty or 20 kB long."
    )
    counters = ("HTTP 401",)

    async def run(self, hand: Hand) -> None:
        """Send requests with wrong tokens."""
        tokens = cycle(["guess", "x" * 43, "x" * 20_000, "\x7f", ""])
        async for number in hand.paced(50):
            header = f"Authorization: Bearer {next(tokens)}"
            data = request(hand, "GET /api/v1/status HTTP/1.1", header)
            wire = await ask(hand, SOURCES[number % 2], data)
            if wire is not None:
                wire.cut()


class HugeRequests(Attack):
    """HTTP heads, names and bodies that are far too large."""

    name = "oversized requests to the page"
    sentence = (
        "10 requests per second to the page: a path or headers of 200 kB, a Host header of 20 kB, "
        "a body of 4 MB, a wrong Content-Length, a chunk of 268 MB that stays incomplete, or TLS."
    )
    counters = ("HTTP 413", "HTTP 400")

    async def run(self, hand: Hand) -> None:
        """Send the requests, and count the responses."""
        post = "POST /login HTTP/1.1"
        requests = cycle(
            [
                request(hand, "GET /" + "a" * 200_000 + " HTTP/1.1"),
                request(hand, "GET / HTTP/1.1", *[f"X-{n}: {'x' * 2_000}" for n in range(100)]),
                b"GET / HTTP/1.1\r\nHost: " + b"a." * 10_000 + b"\r\n\r\n",
                request(hand, post, body="username=" + "x" * BODY_BYTES),
                request(hand, post, "Content-Length: 99999999999999999999"),
                request(hand, post, f"Content-Length: {BODY_BYTES}"),
                request(hand, post, "Transfer-Encoding: chunked") + b"fffffff\r\n" + bytes(100_000),
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
            ]
        )
        async with asyncio.TaskGroup() as asking:
            async for number in hand.paced(10):
                asking.create_task(self._ask(hand, SOURCES[number % 2], next(requests)))

    async def _ask(self, hand: Hand, source: str, data: bytes) -> None:
        wire = await ask(hand, source, data)
        if wire is not None:
            wire.cut()

"""WebSocket handshakes: which pages may connect, and that arbitrary bytes raise no exception."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.server.listeners.handshake import (
    REQUEST_BYTES_MAX,
    Handshake,
    is_allowed_origin,
)

OWN_NAME = socket.gethostname()


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8083"),
        ("http://[::1]:8080", "[::1]:8083"),
        ("http://192.168.7.9", "192.168.7.9"),
        ("https://localhost", "localhost:8083"),
        ("http://localhost:3000", "127.0.0.1:8083"),
        (f"http://{OWN_NAME}:8080", f"{OWN_NAME}:8083"),
        (f"http://{OWN_NAME}.local", f"{OWN_NAME}.LOCAL:8083"),
    ],
)
def test_a_page_of_this_host_may_connect(origin: str, host: str) -> None:
    assert is_allowed_origin(origin, host, ())


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", "127.0.0.1:8083"),
        # A name whose owner makes it resolve to this machine (DNS rebinding).
        ("http://evil.example", "evil.example:8083"),
        ("http://localhost.evil.example", "localhost.evil.example"),
        ("http://127.0.0.1.evil.example", "127.0.0.1"),
        ("http://127.0.0.1@evil.example", "127.0.0.1"),
        ("http://192.168.7.9", "192.168.7.10"),
        ("http://127.0.0.1", "192.168.7.10"),
        ("http://192.168.7.9", "127.0.0.1"),
        ("null", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("http://[", "127.0.0.1"),
        ("http://127.0.0.1", "["),
    ],
)
def test_a_page_of_another_host_may_not(origin: str, host: str) -> None:
    assert not is_allowed_origin(origin, host, ("https://page.example",))
    assert is_allowed_origin(origin, host, ("*",))


def test_a_listed_origin_counts_with_its_scheme_and_port() -> None:
    listed = ("https://page.example:8443",)
    assert is_allowed_origin("https://Page.example:8443", "gateway.example", listed)
    assert not is_allowed_origin("http://page.example:8443", "gateway.example", listed)
    assert not is_allowed_origin("https://page.example", "gateway.example", listed)


REQUEST = (
    b"GET /mqtt HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"Sec-WebSocket-Protocol: mqtt\r\n%s\r\n"
)


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda data: REQUEST % data)))
def test_any_bytes_are_answered_once_or_awaited(data: bytes) -> None:
    answer = Handshake(()).receive(data + b"\r\n\r\n")
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 ")
    assert (answer.refusal is None) == answer.response.startswith(b"HTTP/1.1 101 ")


@pytest.mark.parametrize(
    ("path", "status"),
    [(b"/mqtt", b"101"), (b"/mqtt/", b"101"), (b"/mqtt/?x=1", b"101"), (b"/mqtt/a", b"404")],
)
def test_a_path_may_end_with_a_slash(path: bytes, status: bytes) -> None:
    answer = Handshake((), ("/mqtt",)).receive(REQUEST.replace(b"/mqtt", path) % b"")
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 " + status)


@given(st.integers(0, len(REQUEST)), st.binary(min_size=1, max_size=3))
def test_a_request_with_a_few_wrong_bytes_is_answered_or_awaited(place: int, data: bytes) -> None:
    wrong = REQUEST % b""
    answer = Handshake(()).receive(wrong[:place] + data + wrong[place:])
    assert answer is None or answer.response.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("size", [REQUEST_BYTES_MAX + 1, 1 << 20])
def test_a_request_that_does_not_end_is_refused_at_its_limit(size: int) -> None:
    answer = Handshake(()).receive(b"G" * size)
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Host: " + b"xn--a." * 2_500 + b"\r\n", b"400"),
        (b"hOsT:" + b"a." * 7_500 + b"\r\n", b"400"),
        (b"Host: a\r\n b\r\n", b"400"),
        (b"a:\r\n" * 3_700, b"431"),
    ],
)
def test_a_request_that_would_take_long_to_read_is_refused_unread(
    headers: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: reading took 43 ms for an international name, 60 ms for 3,700 headers."""
    handshake = Handshake(())
    monkeypatch.delattr("wsproto.handshake.H11Handshake.receive_data")
    answer = handshake.receive(REQUEST.replace(b"Host: h\r\n", headers) % b"")
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"\x10", "use the listener for MQTT"),
        (b"\x16\x03\x01", "use the listener for TLS"),
        (b"\x00", "begins with 0x00: expected an HTTP request"),
    ],
)
def test_another_protocol_is_refused_with_its_first_byte_and_named(
    data: bytes, detail: str
) -> None:
    answer = Handshake(()).receive(data)
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 400 ")
    assert detail in answer.detail
    assert "This port speaks WebSocket" in answer.detail


def test_another_version_is_answered_with_the_supported_one() -> None:
    answer = Handshake(()).receive(REQUEST.replace(b"Version: 13", b"Version: 8") % b"")
    assert answer is not None
    head = answer.response.lower()
    assert head.startswith(b"http/1.1 426 ")
    assert b"\r\nsec-websocket-version: 13\r\n" in head
    assert "Missing" not in answer.detail


def test_a_body_behind_the_request_is_no_fault() -> None:
    answer = Handshake(()).receive(REQUEST % b"Content-Length: 5\r\n" + b"hello")
    assert answer is not None
    assert answer.response.startswith(b"HTTP/1.1 ")

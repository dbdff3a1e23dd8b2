"""The bytes of a PROXY header: what it states, why it is refused, and its maximum length."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.server.listeners.proxy_header import (
    HEADER_BYTES_MAX,
    SIGNATURE,
    ProxyHeaderError,
    header_of,
)


def header(command: int, family: int, data: bytes, *, length: int | None = None) -> bytes:
    stated = len(data) if length is None else length
    return SIGNATURE + struct.pack(">BBH", command, family, stated) + data


IPV4 = bytes([192, 0, 2, 7, 10, 0, 0, 1]) + struct.pack(">HH", 40_000, 1883)
IPV6 = bytes.fromhex("20010db8" + "00" * 11 + "07" + "00" * 15 + "01") + struct.pack(">HH", 5, 6)
UNIX = b"/run/client\0".ljust(108, b"\0") + b"/run/server\0".ljust(108, b"\0")
FIELDS = b"\x04\x00\x02xx" + b"\x05\x00\x01y"

ACCEPTED = [
    (header(0x21, 0x11, IPV4), "192.0.2.7:40000"),
    (header(0x21, 0x11, IPV4 + FIELDS), "192.0.2.7:40000"),
    (header(0x21, 0x21, IPV6), "[2001:db8::7]:5"),
    (header(0x21, 0x31, UNIX), "/run/client"),
    (header(0x21, 0x31, b"\0" * 216), None),
    (header(0x21, 0x31, b"/\xff\n" + b"\0" * 213), "/\\xff\\n"),
    (header(0x21, 0x00, b""), None),
    (header(0x21, 0x00, FIELDS), None),
    (header(0x20, 0x00, b""), None),
    (header(0x20, 0x11, IPV4), None),
    (header(0x20, 0xFF, b"anything"), None),
    (b"PROXY TCP4 192.0.2.7 10.0.0.1 40000 1883\r\n", "192.0.2.7:40000"),
    (b"PROXY TCP6 2001:db8::7 ::1 5 6\r\n", "[2001:db8::7]:5"),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", None),
]


def field(kind: int, value: bytes) -> bytes:
    return struct.pack(">BH", kind, len(value)) + value


def ssl_field(client: int, verify: int, *fields: bytes) -> bytes:
    return field(0x20, struct.pack(">BI", client, verify) + b"".join(fields))


VERSION, NAME = field(0x21, b"TLSv1.3"), field(0x22, "kellér".encode())


@pytest.mark.parametrize(
    ("fields", "user"),
    [
        (b"", None),
        (ssl_field(0x03, 0, VERSION, NAME), "kellér"),
        (ssl_field(0x05, 0, NAME), "kellér"),
        (field(0x04, b"pad") + ssl_field(0x07, 0, NAME), "kellér"),
        (ssl_field(0x01, 0, NAME), None),
        (ssl_field(0x03, 1, NAME), None),
        (ssl_field(0x03, 0, VERSION), None),
        (ssl_field(0x03, 0, field(0x22, b"\xff")), None),
        (field(0x20, b"\x03\0\0"), None),
        (NAME, None),
        (ssl_field(0x03, 0, NAME)[:-1], None),
        (ssl_field(0x03, 0, NAME[:-1]), None),
    ],
)
def test_a_verified_certificate_s_common_name_is_the_user(fields: bytes, user: str | None) -> None:
    read = header_of(header(0x21, 0x11, IPV4 + fields))
    assert read is not None
    assert (read.address, read.user) == ("192.0.2.7:40000", user)
    own = header_of(header(0x20, 0x11, IPV4 + fields))
    assert own is not None
    assert own.user is None


@pytest.mark.parametrize(("data", "address"), ACCEPTED)
@pytest.mark.parametrize("rest", [b"", b"\x10\x0c"])
def test_a_header_contains_the_clients_address_and_its_own_length(
    data: bytes, address: str | None, rest: bytes
) -> None:
    read = header_of(data + rest)
    assert read is not None
    assert (read.address, read.length_bytes) == (address, len(data))
    assert all(header_of(data[:end]) is None for end in range(len(data)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x10\x0c\x00\x04MQTT", "expected a header"),
        (b"PROXY TCP5 192.0.2.7 10.0.0.1 40000 1883\r\n", "expected TCP4 or TCP6"),
        (b"PROXY TCP4 192.0.2.7 10.0.0.1 40000\r\n", "expected TCP4 or TCP6"),
        (b"PROXY TCP4 2001:db8::1 10.0.0.1 40000 1883\r\n", "expected TCP4 or TCP6"),
        (b"PROXY TCP4 192.0.2.7 10.0.0.1 65536 1883\r\n", "expected TCP4 or TCP6"),
        (b"PROXY TCP4 192.0.2.7 10.0.0.1 -1 1883\r\n", "expected TCP4 or TCP6"),
        (b"PROXY \xff\r\n", "expected TCP4 or TCP6"),
        (b"PROXY " + 101 * b"x", "more than 107 bytes"),
        (b"PROXX", "expected a header"),
        (SIGNATURE[:-1] + b"\r", "expected a header"),
        (header(0x11, 0x11, IPV4), "0x20 or 0x21"),
        (header(0x22, 0x11, IPV4), "0x20 or 0x21"),
        (header(0x21, 0x12, IPV4), "expected a stream's"),
        (header(0x21, 0x41, IPV4), "expected a stream's"),
        (header(0x21, 0x11, IPV4[:-1]), "too short"),
        (header(0x21, 0x21, IPV4), "too short"),
        (header(0x21, 0x31, UNIX[:-1]), "too short"),
        (header(0x21, 0x11, b"", length=HEADER_BYTES_MAX), "at most 4096"),
    ],
)
def test_what_is_no_header_is_refused_as_soon_as_that_is_certain(data: bytes, message: str) -> None:
    with pytest.raises(ProxyHeaderError, match=message):
        header_of(data)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=300).map(SIGNATURE.__add__),
        st.binary(max_size=120).map(b"PROXY TCP4 ".__add__),
    )
)
def test_any_bytes_are_a_header_or_awaited_or_refused(data: bytes) -> None:
    try:
        read = header_of(data)
    except ProxyHeaderError:
        return
    assert read is None or read.length_bytes <= len(data)

"""Packets of hostile clients as bytes, beside those of `tests.peers.mqtt_bytes`.

Nothing here imports the product: every function builds exactly what its arguments say.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final

from tests.peers.mqtt_bytes import Kind, packet, remaining_length, string

SESSION_EXPIRY: Final = b"\x11"
AUTHENTICATION_METHOD: Final = b"\x15"
AUTHENTICATION_DATA: Final = b"\x16"
TOPIC_ALIAS: Final = b"\x23"

PROXY_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
UNIX_STREAM: Final = 0x31
UNIX_PATH_BYTES: Final = 108


def connect5(client_id: str, *, clean: bool = True, properties: bytes = b"") -> bytes:
    """A CONNECT of MQTT 5.0 with these properties, as bytes one after the other."""
    header = string("MQTT") + bytes([5, 0x02 if clean else 0]) + b"\x00\x00"
    return packet(
        Kind.CONNECT, 0, header + remaining_length(len(properties)) + properties + string(client_id)
    )


def session_expiry(seconds: int) -> bytes:
    """The property of CONNECT that keeps a session for so long."""
    return SESSION_EXPIRY + seconds.to_bytes(4, "big")


def authentication(method: str, data: bytes) -> bytes:
    """The two properties that begin an exchange of enhanced authentication."""
    return AUTHENTICATION_METHOD + string(method) + AUTHENTICATION_DATA + string(data)


def publish_with_alias(topic: str | bytes, alias: int, payload: bytes = b"") -> bytes:
    """A PUBLISH of MQTT 5.0 at QoS 0 that gives its topic a number."""
    properties = TOPIC_ALIAS + alias.to_bytes(2, "big")
    body = string(topic) + remaining_length(len(properties)) + properties + payload
    return packet(Kind.PUBLISH, 0, body)


def subscribe5(packet_id: int, *filters: str) -> bytes:
    """A SUBSCRIBE of MQTT 5.0 at QoS 1, without properties."""
    wanted = b"".join(string(each) + b"\x01" for each in filters)
    return packet(Kind.SUBSCRIBE, 2, packet_id.to_bytes(2, "big") + b"\x00" + wanted)


def unfinished(whole: bytes, missing_bytes: int = 1) -> bytes:
    """A packet without its end."""
    return whole[:-missing_bytes]


def long_topic(number: int, topic_bytes: int) -> bytes:
    """A topic of one level that nobody used before; one character makes all of it cost four bytes.

    CPython stores a text with as many bytes for each character as its largest one needs.
    """
    head = f"{number}\N{BOMB}".encode()
    return head + b"x" * (topic_bytes - len(head))


def deep_topic(first: str, level_count: int) -> str:
    """A topic of so many levels: the first one given, the others of one character."""
    return "/".join([first, *"a" * (level_count - 1)])


def mixed_filters(count: int, level_count: int) -> Iterator[str]:
    """Filters of so many levels that all match `deep_topic("a", level_count)`.

    They differ in their first levels, which are `a` or `+` in every combination, so that a walk
    through a tree of them cannot share any of the rest.
    """
    mixed_count = (count - 1).bit_length()
    tail = ["a"] * (level_count - mixed_count)
    for number, head in enumerate(product("+a", repeat=mixed_count)):
        if number == count:
            return
        yield "/".join([*head, *tail])


def proxy_header(path: bytes) -> bytes:
    """A header of the PROXY protocol, version 2, for a client on a Unix socket of that name."""
    addresses = path[:UNIX_PATH_BYTES].ljust(UNIX_PATH_BYTES, b"\0") + bytes(UNIX_PATH_BYTES)
    fixed = bytes([0x21, UNIX_STREAM]) + len(addresses).to_bytes(2, "big")
    return PROXY_SIGNATURE + fixed + addresses


def handshake(host: bytes, *, origin: bytes = b"") -> bytes:
    """A WebSocket handshake for MQTT that names this host, and its page's origin."""
    lines = [
        b"GET /mqtt HTTP/1.1",
        b"Host: " + host,
        b"Connection: Upgrade",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Version: 13",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        b"Sec-WebSocket-Protocol: mqtt",
    ]
    if origin:
        lines.append(b"Origin: " + origin)
    return b"\r\n".join(lines) + b"\r\n\r\n"


MALFORMED: Final = (
    b"\x00\x00",  # packet type 0
    b"\xf1\x00",  # AUTH with flags
    b"\x10\xff\xff\xff\xff\x7f",  # a length of five bytes
    b"\x36\x02\x00\x00",  # QoS 3
    b"\x32\x05\x00\x01a\x00\x00",  # packet identifier 0
    b"\x30\x05\x00\x09abc",  # a topic longer than its packet
    b"\x30\x04\x00\x02\xc3\x28",  # no UTF-8
    b"\x30\x05\x00\x03\xed\xa0\x80",  # half a surrogate pair
    b"\x30\x05\x00\x03a/#",  # a wildcard in a topic
    b"\x82\x02\x00\x01",  # SUBSCRIBE without a filter
    b"\x82\x08\x00\x01\x00\x03a#b\x00",  # a wildcard where none may be
    b"\x82\x06\x00\x01\x00\x01a\x07",  # requested QoS 3 and more
    b"\x62\x01\x00",  # PUBREL of one byte
    b"\x60\x02\x00\x01",  # PUBREL with the wrong flags
    b"\x20\x02\x00\x00",  # CONNACK from a client
    b"\xc0\x01\x00",  # PINGREQ with a body
)
"""Each ends the connection on which it comes, in any version of MQTT."""

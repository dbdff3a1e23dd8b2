"""Packets of hostile clients as bytes, in addition to those of `tests.peers.mqtt_bytes`.

This module imports no code of the product. Every function builds exactly the bytes that its
arguments describe.
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
    """Return a CONNECT of MQTT 5.0.

    `properties` has the encoded properties without their length.
    """
    header = string("MQTT") + bytes([5, 0x02 if clean else 0]) + b"\x00\x00"
    return packet(
        Kind.CONNECT, 0, header + remaining_length(len(properties)) + properties + string(client_id)
    )


def session_expiry(seconds: int) -> bytes:
    """Return the property of CONNECT that keeps a session for `seconds` after its connection."""
    return SESSION_EXPIRY + seconds.to_bytes(4, "big")


def authentication(method: str, data: bytes) -> bytes:
    """Return the two properties that begin an exchange of enhanced authentication."""
    return AUTHENTICATION_METHOD + string(method) + AUTHENTICATION_DATA + string(data)


def publish_with_alias(topic: str | bytes, alias: int, payload: bytes = b"") -> bytes:
    """Return a PUBLISH of MQTT 5.0 at QoS 0 with a topic alias."""
    properties = TOPIC_ALIAS + alias.to_bytes(2, "big")
    body = string(topic) + remaining_length(len(properties)) + properties + payload
    return packet(Kind.PUBLISH, 0, body)


def subscribe5(packet_id: int, *filters: str) -> bytes:
    """Return a SUBSCRIBE of MQTT 5.0 at QoS 1, without properties."""
    wanted = b"".join(string(each) + b"\x01" for each in filters)
    return packet(Kind.SUBSCRIBE, 2, packet_id.to_bytes(2, "big") + b"\x00" + wanted)


def unfinished(whole: bytes, missing_bytes: int = 1) -> bytes:
    """Return a packet without its last bytes."""
    return whole[:-missing_bytes]


def long_topic(number: int, topic_bytes: int) -> bytes:
    """Return a topic of one level that was never used before, and that takes 4 bytes per character.

    CPython stores every character of a string with the size of the largest one, here an emoji.
    """
    head = f"{number}\N{BOMB}".encode()
    return head + b"x" * (topic_bytes - len(head))


def deep_topic(first: str, level_count: int) -> str:
    """Return a topic of `level_count` levels: `first`, and then levels of one character."""
    return "/".join([first, *"a" * (level_count - 1)])


def mixed_filters(count: int, level_count: int) -> Iterator[str]:
    """Yield filters of `level_count` levels that all match `deep_topic("a", level_count)`.

    Their first levels are `a` or `+` in every combination. So a walk through a tree of the filters
    cannot share the rest.
    """
    mixed_count = (count - 1).bit_length()
    tail = ["a"] * (level_count - mixed_count)
    for number, head in enumerate(product("+a", repeat=mixed_count)):
        if number == count:
            return
        yield "/".join([*head, *tail])


def proxy_header(path: bytes) -> bytes:
    """Return a PROXY protocol header, version 2, for a client on a Unix socket with this path."""
    addresses = path[:UNIX_PATH_BYTES].ljust(UNIX_PATH_BYTES, b"\0") + bytes(UNIX_PATH_BYTES)
    fixed = bytes([0x21, UNIX_STREAM]) + len(addresses).to_bytes(2, "big")
    return PROXY_SIGNATURE + fixed + addresses


def handshake(host: bytes, *, origin: bytes = b"") -> bytes:
    """Return a WebSocket handshake for MQTT with this Host header, and this Origin if given."""
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
    b"\x30\x04\x00\x02\xc3\x28",  # not UTF-8
    b"\x30\x05\x00\x03\xed\xa0\x80",  # half a surrogate pair
    b"\x30\x05\x00\x03a/#",  # a wildcard in a topic
    b"\x82\x02\x00\x01",  # SUBSCRIBE without a filter
    b"\x82\x08\x00\x01\x00\x03a#b\x00",  # a wildcard at an invalid position
    b"\x82\x06\x00\x01\x00\x01a\x07",  # requested QoS 3 and more
    b"\x62\x01\x00",  # PUBREL of one byte
    b"\x60\x02\x00\x01",  # PUBREL with the wrong flags
    b"\x20\x02\x00\x00",  # CONNACK from a client
    b"\xc0\x01\x00",  # PINGREQ with a body
)
"""Packets that each end their connection, in any version of MQTT."""

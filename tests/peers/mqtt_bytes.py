"""MQTT 3.1 and 3.1.1 packets and the CONNECT of 5.0 as bytes, written from the standard for tests.

The tests must not learn the protocol from the code they test, so this module imports no code of the
product. Every function builds exactly the bytes that its arguments describe, also invalid ones: the
tests of hostile input need them.

A packet on the wire (section 2 of the standard)::

    type and flags u8 | remaining length 1 to 4 bytes, 7 bits each | variable header and payload
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Self


class Kind(IntEnum):
    """The MQTT control packet types, section 2.2.1."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


PINGREQ = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"


@dataclass(frozen=True)
class Will:
    """A will: the message that the broker publishes if a connection ends without a DISCONNECT."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


@dataclass(frozen=True)
class Received:
    """A received packet: the low half of its first byte, and all bytes after the length."""

    kind: Kind
    flags: int
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Parse a whole packet."""
        header = 2
        while data[header - 1] & 0x80:
            header += 1
        return cls(Kind(data[0] >> 4), data[0] & 0x0F, data[header:])

    @property
    def packet_id(self) -> int:
        """The packet identifier, or 0 for a PUBLISH of QoS 0."""
        if self.kind is not Kind.PUBLISH:
            return int.from_bytes(self.body[:2], "big")
        if self.qos == 0:
            return 0
        after_topic = 2 + int.from_bytes(self.body[:2], "big")
        return int.from_bytes(self.body[after_topic : after_topic + 2], "big")

    @property
    def qos(self) -> int:
        """The QoS of a PUBLISH."""
        return (self.flags >> 1) & 3

    @property
    def dup(self) -> bool:
        """The DUP flag of a PUBLISH."""
        return bool(self.flags & 8)

    @property
    def retain(self) -> bool:
        """The RETAIN flag of a PUBLISH."""
        return bool(self.flags & 1)

    @property
    def topic(self) -> str:
        """The topic name of a PUBLISH."""
        return self.body[2 : 2 + int.from_bytes(self.body[:2], "big")].decode()

    @property
    def payload(self) -> bytes:
        """The application message of a PUBLISH."""
        after_topic = 2 + int.from_bytes(self.body[:2], "big")
        return self.body[after_topic + (2 if self.qos else 0) :]

    @property
    def session_present(self) -> bool:
        """The session present flag of a CONNACK."""
        return bool(self.body[0] & 1)

    @property
    def return_code(self) -> int:
        """The return code of a CONNACK."""
        return self.body[1]

    @property
    def granted(self) -> list[int]:
        """The return codes of a SUBACK."""
        return list(self.body[2:])


def string(text: str | bytes) -> bytes:
    """Return a UTF-8 string with its two-byte length.

    Bytes are not checked, so they may be invalid.
    """
    encoded = text if isinstance(text, bytes) else text.encode()
    return len(encoded).to_bytes(2, "big") + encoded


def remaining_length(length: int) -> bytes:
    """Return the variable-length encoding of section 2.2.3."""
    encoded = bytearray()
    while True:
        length, digit = divmod(length, 128)
        encoded.append(digit | (0x80 if length else 0))
        if not length:
            return bytes(encoded)


def length_of(digits: bytes | bytearray) -> int:
    """Return the remaining length that these bytes encode."""
    return sum((digit & 0x7F) << 7 * place for place, digit in enumerate(digits))


class PacketReader:
    """A reader that splits a stream of bytes into packets."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Iterator[Received]:
        """Add received bytes. Return the packets that are now complete."""
        received = self._received
        received += data
        while len(received) >= 2:
            header = 2
            while received[header - 1] & 0x80:
                header += 1
                if header > len(received):
                    return
            end = header + length_of(received[1:header])
            if len(received) < end:
                return
            packet = bytes(received[:end])
            del received[:end]
            yield Received.of(packet)


def packet(kind: int, flags: int, body: bytes = b"") -> bytes:
    """Return any control packet."""
    return bytes([kind << 4 | flags]) + remaining_length(len(body)) + body


def connect(
    client_id: str | bytes,
    *,
    clean: bool = True,
    keep_alive_seconds: int = 0,
    will: Will | None = None,
    username: str | None = None,
    password: bytes | None = None,
    level: int = 4,
    name: str | None = None,
    flags: int | None = None,
) -> bytes:
    """Return a CONNECT. `flags` replaces the connect flags that the other arguments would set.

    At level 5 neither the packet nor its will has properties.
    """
    no_properties = b"\x00" if level == 5 else b""
    computed = 0x02 if clean else 0
    payload = string(client_id)
    if will is not None:
        computed |= 0x04 | will.qos << 3 | (0x20 if will.retain else 0)
        payload += no_properties + string(will.topic) + string(will.payload)
    if username is not None:
        computed |= 0x80
        payload += string(username)
    if password is not None:
        computed |= 0x40
        payload += string(password)
    protocol = name if name is not None else ("MQIsdp" if level == 3 else "MQTT")
    header = string(protocol) + bytes([level, computed if flags is None else flags])
    header += keep_alive_seconds.to_bytes(2, "big") + no_properties
    return packet(Kind.CONNECT, 0, header + payload)


def publish(
    topic: str | bytes,
    payload: bytes,
    *,
    qos: int = 0,
    packet_id: int = 0,
    retain: bool = False,
    dup: bool = False,
) -> bytes:
    """Return a PUBLISH. The packet identifier is written for QoS 1 to 3, even if it is 0."""
    flags = (8 if dup else 0) | qos << 1 | (1 if retain else 0)
    identifier = packet_id.to_bytes(2, "big") if qos else b""
    return packet(Kind.PUBLISH, flags, string(topic) + identifier + payload)


def acknowledgement(kind: Kind, packet_id: int) -> bytes:
    """Return a PUBACK, PUBREC, PUBREL or PUBCOMP with the flags of section 2.2.2."""
    return packet(kind, 2 if kind is Kind.PUBREL else 0, packet_id.to_bytes(2, "big"))


def subscribe(packet_id: int, *filters: tuple[str | bytes, int]) -> bytes:
    """Return a SUBSCRIBE with a requested QoS for each filter."""
    payload = b"".join(string(topic_filter) + bytes([qos]) for topic_filter, qos in filters)
    return packet(Kind.SUBSCRIBE, 2, packet_id.to_bytes(2, "big") + payload)


def unsubscribe(packet_id: int, *filters: str | bytes) -> bytes:
    """Return an UNSUBSCRIBE."""
    return packet(
        Kind.UNSUBSCRIBE,
        2,
        packet_id.to_bytes(2, "big") + b"".join(string(each) for each in filters),
    )

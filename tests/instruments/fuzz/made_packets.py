"""Valid packets derived from bytes, with few names and identifiers, so that they interact.

Random bytes almost never subscribe to a topic that another packet publishes to. These packets do,
in every version, with the properties that change the broker's behaviour.
"""

from collections.abc import Callable, Sequence
from typing import Final

from gateway.broker.wire.packets import (
    Auth,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.instruments.fuzz.byte_program import ByteProgram

METHOD: Final = "RIDDLE"
"""The method of enhanced authentication that the target's broker supports."""

CLIENT_IDS: Final = ("a", "b", "c", "")
TOPICS: Final = ("t/1", "t/2", "sensors/x", "$SYS/x", "t/1/2/3/4/5/6/7/8", "")
FILTERS: Final = (
    "t/1",
    "t/+",
    "#",
    "sensors/#",
    "$share/g/t/+",
    "$share/g/#",
    "$share/h/t/1",
    "$SYS/#",
    "t/1/2/3/4/5/6/7/8",
    "$share/g",
)
PAYLOADS: Final = (b"", b"x", b"\xff", b"p" * 60, b"p" * 200)
EXPIRIES_SECONDS: Final = (0, 1, 30, 0xFFFF_FFFF)
RECEIVE_MAXIMA: Final = (1, 2, 65_535)
PACKET_SIZES_BYTES: Final = (2, 4, 5, 24, 60, 200)
SMALL: Final = (0, 1, 2, 3)

Setter = tuple[str, Sequence[object]]
CONNECT_PROPERTIES: Final[tuple[Setter, ...]] = (
    ("session_expiry_interval_seconds", EXPIRIES_SECONDS),
    ("receive_maximum", RECEIVE_MAXIMA),
    ("maximum_packet_size_bytes", PACKET_SIZES_BYTES),
    ("topic_alias_maximum", SMALL),
    ("request_problem_information", (False, True)),
    ("request_response_information", (False, True)),
    ("authentication_method", (METHOD, "OTHER")),
    ("user_properties", ([("a", "1")],)),
)
MESSAGE_PROPERTIES: Final[tuple[Setter, ...]] = (
    ("payload_format_indicator", (0, 1)),
    ("message_expiry_interval_seconds", EXPIRIES_SECONDS),
    ("content_type", ("text/plain",)),
    ("response_topic", TOPICS[:3]),
    ("correlation_data", PAYLOADS),
    ("user_properties", ([("a", "1"), ("a", "2")],)),
)
PUBLISH_PROPERTIES: Final[tuple[Setter, ...]] = (
    *MESSAGE_PROPERTIES,
    ("topic_alias", (1, 2, 3)),
)
WILL_PROPERTIES: Final[tuple[Setter, ...]] = (
    *MESSAGE_PROPERTIES,
    ("will_delay_interval_seconds", EXPIRIES_SECONDS),
)


def _properties(program: ByteProgram, setters: Sequence[Setter], version: int) -> Properties | None:
    """Draw properties: one byte selects which exist, and one more byte sets each value."""
    which = program.byte()
    if version != 5 or not which:
        return None
    properties = Properties()
    for index, (name, values) in enumerate(setters):
        if which >> index & 1:
            setattr(properties, name, program.pick(values))
    return properties if properties != Properties() else None


def connect(program: ByteProgram, version: int) -> Packet:
    """Draw a CONNECT: flags u8 | client identifier u8 | properties | will, if it has one."""
    flags = program.byte()
    client_id = program.pick(CLIENT_IDS)
    properties = _properties(program, CONNECT_PROPERTIES, version)
    will = _will(program, version) if flags & 2 else None
    return Connect(
        version,
        client_id,
        flags & 1 != 0 or (not client_id and version < 5),
        (0, 1, 60, 65_535)[flags >> 2 & 3],
        will,
        "user" if flags & 16 else None,
        b"password" if flags & 48 == 48 else None,
        properties,
    )


def _will(program: ByteProgram, version: int) -> Will:
    flags = program.byte()
    properties = _properties(program, WILL_PROPERTIES, version)
    topic = program.pick(TOPICS) or "w"
    return Will(topic, program.pick(PAYLOADS), flags % 3, flags & 8 != 0, properties)


def publish(program: ByteProgram, version: int) -> Packet:
    """Draw a PUBLISH: flags u8 | topic u8 | payload u8 | identifier u8 | properties."""
    flags = program.byte()
    topic = program.pick(TOPICS)
    payload = program.pick(PAYLOADS)
    packet_id = program.byte() % 6 + 1
    properties = _properties(program, PUBLISH_PROPERTIES, version)
    if not topic and (properties is None or properties.topic_alias is None):
        topic = "w"
    qos = flags % 3
    dup = qos > 0 and flags & 16 != 0
    return Publish(topic, payload, qos, flags & 8 != 0, dup, packet_id if qos else 0, properties)


def subscribe(program: ByteProgram, version: int) -> Packet:
    """Draw a SUBSCRIBE: identifiers u8 | count u8 | (filter u8 | options u8)..."""
    identifiers = program.byte()
    properties = None
    if version == 5 and identifiers & 0xF0:
        properties = Properties()
        properties.subscription_identifiers = [identifiers >> 4]
    subscriptions = [_subscription(program, version) for _ in range(program.byte() % 3 + 1)]
    return Subscribe((identifiers & 0x0F) + 1, subscriptions, properties)


def _subscription(program: ByteProgram, version: int) -> Subscription:
    topic_filter = program.pick(FILTERS)
    options = program.byte()
    if version != 5:
        return Subscription(topic_filter, options % 3)
    return Subscription(
        topic_filter, options % 3, options & 8 != 0, options & 16 != 0, (options >> 5) % 3
    )


def unsubscribe(program: ByteProgram, version: int) -> Packet:
    """Draw an UNSUBSCRIBE: identifier u8 | count u8 | filter u8..."""
    packet_id = program.byte() % 16 + 1
    count = program.byte() % 3 + 1
    return Unsubscribe(packet_id, [program.pick(FILTERS) for _ in range(count)])


def acknowledgement(program: ByteProgram, version: int) -> Packet:
    """Draw any acknowledgement of any identifier: kind u8 | identifier u8."""
    kind = program.byte()
    packet_id = program.byte() % 8 + 1
    if version == 5 and kind & 0x40:
        return Pubrec(packet_id, 0x80) if kind & 1 else Pubrel(packet_id, 0x92)
    kinds = (Puback, Pubrec, Pubrel, Pubcomp)
    return kinds[kind % 4](packet_id)


def disconnect(program: ByteProgram, version: int) -> Packet:
    """Draw a DISCONNECT: reason u8, and in 5.0 perhaps another session expiry interval."""
    how = program.byte()
    if version != 5 or not how:
        return Disconnect()
    properties = None
    if how & 2:
        properties = Properties()
        properties.session_expiry_interval_seconds = program.pick(EXPIRIES_SECONDS)
    return Disconnect(0x04 if how & 1 else 0, properties)


def auth(program: ByteProgram, version: int) -> Packet:
    """Draw an AUTH that continues or restarts. In other versions return a PINGREQ."""
    if version != 5:
        return Pingreq()
    how = program.byte()
    properties = Properties()
    properties.authentication_method = METHOD if how & 6 else "OTHER"
    properties.authentication_data = b"answer"
    return Auth(0x19 if how & 1 else 0x18, properties)


def pingreq(_program: ByteProgram, _version: int) -> Packet:
    """Return a PINGREQ."""
    return Pingreq()


MAKERS: Final[tuple[Callable[[ByteProgram, int], Packet], ...]] = (
    publish,
    subscribe,
    unsubscribe,
    acknowledgement,
    disconnect,
    auth,
    pingreq,
    connect,
)
"""Functions that draw a packet, selected by the byte before it."""

"""Decoder for CONNECT packets.

The body of a CONNECT has this layout (u2, u8 and u16 are unsigned integers of 2, 8 and 16 bits)::

    protocol name string | level u8 | flags u8 | keep alive u16 | properties (5.0) |
    client identifier string | will properties (5.0) | will topic string | will payload binary |
    user name string | password binary

    flags: user name | password | will retain | will QoS u2 | will | clean start | reserved
"""

from typing import Final

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR, UNSUPPORTED_PROTOCOL_VERSION
from gateway.broker.wire.kinds import CONNECT, MQTT_3_1, MQTT_3_1_1, MQTT_5_0
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Connect, Will
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_tables import FROM_CLIENT, WILL_PROPERTIES
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.topics import validate_topic_name

_USERNAME: Final = 0x80
_PASSWORD: Final = 0x40
_WILL_RETAIN: Final = 0x20
_WILL: Final = 0x04
_CLEAN_START: Final = 0x02
_RESERVED: Final = 0x01

HEAD_BYTES: Final = 16
"""Bytes at the start of a connection that always include the protocol level of a CONNECT: the fixed
header takes up to 5, the longest protocol name 8, and the level 1."""

_LENGTH_BYTES_MAX: Final = 4

# Maximum bytes of an unknown protocol name that are shown in an error message.
_NAME_SHOWN_BYTES_MAX: Final = 16


def decode_connect(reader: Reader) -> Connect:
    version = _protocol_level(reader)
    flags = reader.byte("connect flags")
    _check_flags(flags, version)
    keep_alive_seconds = reader.two_bytes("keep alive")
    properties = None
    if version == MQTT_5_0:
        properties = read_properties(reader, FROM_CLIENT[CONNECT])
        check_authentication(reader, properties)
    # [MQTT-3.1.3-1] [MQTT5-3.1.3-1] the fields are in this order
    client_id = reader.string("client identifier")
    will = _will(reader, flags, version) if flags & _WILL else None
    username = None
    password = None
    if flags & _USERNAME and not _are_fields_missing(reader, version):
        username = reader.string("user name")
    if flags & _PASSWORD and not _are_fields_missing(reader, version):
        password = reader.binary("password")
    reader.finish()
    return Connect(
        version,
        client_id,
        bool(flags & _CLEAN_START),
        keep_alive_seconds,
        will,
        username,
        password,
        properties,
    )


def level_in(head: bytes) -> int:
    """Return the protocol level in the first bytes of a connection: 3, 4 or 5.

    Return 0 if the bytes do not begin a CONNECT with a known level, or -1 if the level has not
    arrived yet.
    """
    start = 1
    while start < len(head) and head[start] & 0x80:
        start += 1
    start += 1
    if (head and head[0] >> 4 != CONNECT) or start > 1 + _LENGTH_BYTES_MAX:
        return 0
    for name, levels in (
        (b"\x00\x04MQTT", (MQTT_3_1_1, MQTT_5_0)),
        (b"\x00\x06MQIsdp", (MQTT_3_1,)),
    ):
        found = head[start : start + len(name)]
        if found == name and start + len(name) < len(head):
            level = head[start + len(name)]
            return level if level in levels else 0
        if name.startswith(found):
            return -1
    return 0


def check_authentication(reader: Reader, properties: Properties | None) -> None:
    """Raise Malformed if there is authentication data but no authentication method.

    Sources: [MQTT5-3.1.2.11.10], [MQTT5-3.15.2.2.2].
    """
    if properties is None:
        return
    if properties.authentication_data is not None and properties.authentication_method is None:
        raise Malformed(
            wrong.PROPERTY_MISSING,
            f"{reader.packet_name} has authentication data but no authentication method",
            PROTOCOL_ERROR,
        )


def _protocol_level(reader: Reader) -> int:
    name = reader.binary("protocol name")
    level = reader.byte("protocol level")
    # [MQTT-3.1.2-1] [MQTT-3.1.2-2] [MQTT5-3.1.2-1] [MQTT5-3.1.2-2]
    if name == b"MQTT" and level in (MQTT_3_1_1, MQTT_5_0):
        return level
    if name == b"MQIsdp" and level == MQTT_3_1:
        return level
    raise Malformed(
        wrong.UNSUPPORTED_PROTOCOL,
        f"CONNECT asks for protocol {name[:_NAME_SHOWN_BYTES_MAX]!r} level {level}: "
        "expected MQTT level 4 (3.1.1) or 5 (5.0), or MQIsdp level 3 (3.1)",
        UNSUPPORTED_PROTOCOL_VERSION,
        level,
    )


def _check_flags(flags: int, version: int) -> None:
    if version == MQTT_3_1:
        # MQTT 3.1, section 3.1: the reserved bit is not used, and without the will flag, will QoS
        # and will retain are ignored
        if flags & _WILL and flags >> 3 & 3 == 3:
            raise _wrong_flags("will QoS 3: expected 0, 1 or 2")
        if flags & _PASSWORD and not flags & _USERNAME:
            raise _wrong_flags("a password but no user name: expected both or none")
        return
    # [MQTT-3.1.2-3] [MQTT5-3.1.2-3]
    if flags & _RESERVED:
        raise Malformed(
            wrong.RESERVED_FLAGS, "CONNECT has bit 0 of its connect flags set: expected 0"
        )
    if flags & _WILL:
        # [MQTT-3.1.2-14] [MQTT5-3.1.2-12]
        if flags >> 3 & 3 == 3:
            raise _wrong_flags("will QoS 3: expected 0, 1 or 2")
    # [MQTT-3.1.2-11] [MQTT-3.1.2-13] [MQTT-3.1.2-15] [MQTT5-3.1.2-11] [MQTT5-3.1.2-13]
    elif flags & 0x38:
        raise _wrong_flags("will QoS or will retain but no will: expected 0 for both")
    # [MQTT-3.1.2-22]; MQTT 5.0 allows a password alone
    if version == MQTT_3_1_1 and flags & _PASSWORD and not flags & _USERNAME:
        raise _wrong_flags("a password but no user name: expected both or none")


def _wrong_flags(what: str) -> Malformed:
    return Malformed(wrong.CONNECT_FLAGS, f"CONNECT has flags for {what}")


def _will(reader: Reader, flags: int, version: int) -> Will:
    properties = None
    if version == MQTT_5_0:
        properties = read_properties(reader, WILL_PROPERTIES)
    topic = reader.string("will topic")
    # The will is published, so its topic has to be a valid name to publish to.
    error = validate_topic_name(topic)
    if error is not None:
        raise Malformed(wrong.TOPIC_NAME, f"will of CONNECT: {error}", PROTOCOL_ERROR)
    payload = reader.binary("will payload")
    return Will(topic, payload, flags >> 3 & 3, bool(flags & _WILL_RETAIN), properties)


def _are_fields_missing(reader: Reader, version: int) -> bool:
    # MQTT 3.1, section 3.1: the remaining length takes precedence over the user name and password
    # flags, for clients of the first MQTT 3 that set the flags and left the fields out
    return version == MQTT_3_1 and reader.at_end()

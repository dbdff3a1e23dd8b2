"""Validation of a packet's fixed header.

The fixed header has this layout (u4 is an unsigned integer of 4 bits)::

    type u4 | flags u4 | remaining length, one to four bytes

The allowed values of the first byte depend on the sender and the version. An invalid first byte is
rejected immediately, before the rest of the packet has arrived.
"""

from typing import Final

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    KIND_NAMES,
    MQTT_3_1,
    MQTT_5_0,
    PINGREQ,
    PINGRESP,
    PUBCOMP,
    PUBLISH,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
)
from gateway.broker.wire.malformed import Malformed

_DUP: Final = 0x08
_QOS_1: Final = 0x02
_TLS_HANDSHAKE: Final = 0x16


def check_first_byte(first: int, version: int, from_client: bool) -> None:
    """Check that a packet with this first byte is allowed at this point of the connection.

    `version` is the protocol level, or 0 before CONNECT. Raises Malformed if the packet is not
    allowed.
    """
    kind = first >> 4
    if version == 0:
        # [MQTT-3.1.0-1] [MQTT5-3.1.0-1]
        if kind != CONNECT or first == _TLS_HANDSHAKE:
            raise Malformed(
                wrong.UNEXPECTED_PACKET,
                f"the connection begins with 0x{first:02X}: expected a CONNECT, 0x10{_hint(first)}",
                PROTOCOL_ERROR,
            )
    elif not _may_come(kind, version, from_client):
        sender = "a client" if from_client else "a server"
        what = "a second CONNECT" if kind == CONNECT and from_client else KIND_NAMES[kind]
        raise Malformed(
            wrong.UNEXPECTED_PACKET,
            f"{what} at protocol level {version}: expected a packet that {sender} may send now",
            PROTOCOL_ERROR,
        )
    if kind == PUBLISH:
        check_publish_flags(first)
    else:
        _check_reserved_flags(kind, first & 0x0F, version)


def _hint(first: int) -> str:
    if first == _TLS_HANDSHAKE:
        return " (this looks like TLS: use the listener for TLS, or turn TLS off in the client)"
    if chr(first) in "CDGHOP":
        # CONNECT, DELETE, GET, HEAD, OPTIONS, POST: no MQTT connection begins with these letters
        return " (this looks like HTTP: use the listener for WebSocket)"
    return ""


def _may_come(kind: int, version: int, from_client: bool) -> bool:
    if PUBLISH <= kind <= PUBCOMP:
        return True
    if kind == AUTH:
        return version == MQTT_5_0
    if kind == DISCONNECT:
        return from_client or version == MQTT_5_0
    if from_client:
        # [MQTT-3.1.0-2] [MQTT5-3.1.0-2] a second CONNECT is a violation
        return kind in (SUBSCRIBE, UNSUBSCRIBE, PINGREQ)
    return kind in (CONNACK, SUBACK, UNSUBACK, PINGRESP)


def check_publish_flags(first: int) -> None:
    qos = first >> 1 & 3
    # [MQTT-3.3.1-4] [MQTT5-3.3.1-4]
    if qos == 3:
        raise Malformed(wrong.QOS_INVALID, "PUBLISH has QoS 3: expected 0, 1 or 2")
    # [MQTT-3.3.1-2] [MQTT5-3.3.1-2]
    if qos == 0 and first & _DUP:
        raise Malformed(
            wrong.DUP_WITH_QOS_0,
            "PUBLISH has DUP set at QoS 0: expected DUP only where there is an acknowledgement",
        )


def _check_reserved_flags(kind: int, flags: int, version: int) -> None:
    # [MQTT-2.2.2-1] [MQTT-2.2.2-2] [MQTT5-2.1.3-1]; [MQTT-3.6.1-1] [MQTT-3.8.1-1] [MQTT-3.10.1-1]
    expected = _QOS_1 if kind in (PUBREL, SUBSCRIBE, UNSUBSCRIBE) else 0
    if flags == expected:
        return
    # MQTT 3.1 (section 2.1) allows a DUP flag in repeated PUBREL, SUBSCRIBE and UNSUBSCRIBE packets
    if version == MQTT_3_1 and expected and flags == expected | _DUP:
        return
    raise Malformed(
        wrong.RESERVED_FLAGS,
        f"{KIND_NAMES[kind]} has the flags {flags:04b}: expected {expected:04b}",
    )


def long_remaining_length(
    data: bytes, position: int, end: int, version: int, from_client: bool
) -> tuple[int, int]:
    """Decode the field "remaining length" of the packet that begins at `position`.

    Return the length, and the offset of the first byte after the field. The offset is -1 if
    data[:end] does not contain the whole field. Raises Malformed if the field is invalid.
    """
    value = 0
    shift = 0
    index = position + 1
    while index < end:
        byte = data[index]
        index += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # [MQTT5-1.5.5-1]; MQTT 3.1.1 has no such rule, and some clients use a fixed width
            if byte == 0 and shift and version == MQTT_5_0:
                check_first_byte(data[position], version, from_client)
                raise not_minimal()
            return value, index
        shift += 7
        # [MQTT-2.2.3] [MQTT5-1.5.5] at most four bytes
        if shift > 21:
            check_first_byte(data[position], version, from_client)
            raise Malformed(
                wrong.REMAINING_LENGTH,
                "the remaining length goes on after its 4th byte: expected at most 4 bytes",
            )
    return 0, -1


def not_minimal() -> Malformed:
    return Malformed(
        wrong.REMAINING_LENGTH, "the remaining length is not written in as few bytes as possible"
    )

"""Decoder for the bodies of all packets except CONNECT and PUBLISH.

The functions document the layout of each packet. Fields are separated by `|`. Brackets enclose
optional fields, `...` means repetition, and uN (such as u16) is an unsigned integer of N bits.
Properties exist in MQTT 5.0 only. All functions raise Malformed if the body is invalid.
"""

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR
from gateway.broker.wire.connect_decoder import check_authentication
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    DISCONNECT,
    KIND_NAMES,
    MQTT_3_1,
    MQTT_5_0,
    PINGREQ,
    PINGRESP,
    PUBACK,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
)
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import (
    Acknowledgement,
    Auth,
    Connack,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Properties,
    Puback,
    Pubcomp,
    Pubrec,
    Pubrel,
    Suback,
    Unsuback,
)
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_tables import FROM_CLIENT, FROM_SERVER
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.reason_codes import (
    CONNACK_MQTT_3,
    SUBACK_MQTT_3,
    allowed_reason_codes,
    check_reason_code,
)
from gateway.broker.wire.subscription_decoder import decode_subscribe, decode_unsubscribe


def decode_body(kind: int, reader: Reader, version: int, from_client: bool) -> Packet:
    """Decode the body of a packet whose first byte has already been checked.

    `kind` is the packet type. The body begins at the reader's position. Raises Malformed if the
    body is invalid.
    """
    packet: Packet
    if kind == PINGREQ:
        packet = Pingreq()
    elif kind == PINGRESP:
        packet = Pingresp()
    elif PUBACK <= kind < SUBSCRIBE:
        packet = _acknowledgement(kind, reader, version, from_client)
    elif kind == SUBSCRIBE:
        packet = decode_subscribe(reader, version)
    elif kind == UNSUBSCRIBE:
        packet = decode_unsubscribe(reader, version)
    elif kind == DISCONNECT:
        packet = _disconnect(reader, version, from_client)
    elif kind == AUTH:
        packet = _auth(reader, from_client)
    elif kind == CONNACK:
        packet = _connack(reader, version)
    elif kind == SUBACK:
        packet = _suback(reader, version)
    else:
        assert kind == UNSUBACK, f"{KIND_NAMES[kind]} is not read here"
        packet = _unsuback(reader, version)
    reader.finish()
    return packet


def acknowledgement_of(
    kind: int, packet_id: int, reason_code: int = 0, properties: Properties | None = None
) -> Acknowledgement:
    if kind == PUBACK:
        return Puback(packet_id, reason_code, properties)
    if kind == PUBREC:
        return Pubrec(packet_id, reason_code, properties)
    if kind == PUBREL:
        return Pubrel(packet_id, reason_code, properties)
    return Pubcomp(packet_id, reason_code, properties)


def _properties(kind: int, reader: Reader, from_client: bool) -> Properties | None:
    return read_properties(reader, FROM_CLIENT[kind] if from_client else FROM_SERVER[kind])


def _acknowledgement(kind: int, reader: Reader, version: int, from_client: bool) -> Packet:
    """Decode the body of a PUBACK, PUBREC, PUBREL or PUBCOMP.

    The layout is `packet identifier u16 | [reason code u8 | [properties]]`.
    """
    packet_id = reader.packet_id()
    reason_code = 0
    properties = None
    # [MQTT5-3.4.2.1] a reason code of 0 and no properties may both be left out
    if version == MQTT_5_0 and not reader.at_end():
        reason_code = reader.byte("reason code")
        check_reason_code(kind, reason_code, allowed_reason_codes(kind, from_client))
        if not reader.at_end():
            properties = _properties(kind, reader, from_client)
    return acknowledgement_of(kind, packet_id, reason_code, properties)


def _disconnect(reader: Reader, version: int, from_client: bool) -> Packet:
    """Decode the body of a DISCONNECT: `[reason code u8 | [properties]]`."""
    reason_code = 0
    properties = None
    if version == MQTT_5_0 and not reader.at_end():
        reason_code = reader.byte("reason code")
        check_reason_code(DISCONNECT, reason_code, allowed_reason_codes(DISCONNECT, from_client))
        if not reader.at_end():
            properties = _properties(DISCONNECT, reader, from_client)
    return Disconnect(reason_code, properties)


def _auth(reader: Reader, from_client: bool) -> Packet:
    """Decode the body of an AUTH: `[reason code u8 | properties]`."""
    reason_code = 0
    properties = None
    if not reader.at_end():
        reason_code = reader.byte("reason code")
    check_reason_code(AUTH, reason_code, allowed_reason_codes(AUTH, from_client))
    if not reader.at_end():
        properties = _properties(AUTH, reader, from_client)
    check_authentication(reader, properties)
    # [MQTT5-3.15.2.2.2] only the short form, which means success, does without a method
    if reason_code and (properties is None or properties.authentication_method is None):
        raise Malformed(
            wrong.PROPERTY_MISSING,
            "AUTH has no authentication method: expected one",
            PROTOCOL_ERROR,
        )
    return Auth(reason_code, properties)


def _connack(reader: Reader, version: int) -> Packet:
    """Decode the body of a CONNACK.

    The layout is `0000000 | session present u1 | reason code u8 | properties`.
    """
    flags = reader.byte("acknowledge flags")
    reason_code = reader.byte("reason code")
    if version == MQTT_3_1:
        # MQTT 3.1, section 3.2: the first byte is reserved and not used
        flags = 0
    # [MQTT5-3.2.2-1]
    if flags > 1:
        raise Malformed(
            wrong.RESERVED_FLAGS, f"CONNACK has the acknowledge flags {flags:08b}: expected 0 or 1"
        )
    allowed = allowed_reason_codes(CONNACK, False) if version == MQTT_5_0 else CONNACK_MQTT_3
    check_reason_code(CONNACK, reason_code, allowed)
    # [MQTT-3.2.2-4] [MQTT5-3.2.2-6]
    if flags and reason_code:
        raise Malformed(
            wrong.RESERVED_FLAGS,
            f"CONNACK refuses with 0x{reason_code:02X} and has session present set: expected 0",
            PROTOCOL_ERROR,
        )
    properties = _properties(CONNACK, reader, False) if version == MQTT_5_0 else None
    return Connack(flags == 1, reason_code, properties)


def _suback(reader: Reader, version: int) -> Packet:
    """Decode the body of a SUBACK: `packet identifier u16 | properties | reason code u8...`."""
    packet_id = reader.packet_id()
    properties = _properties(SUBACK, reader, False) if version == MQTT_5_0 else None
    allowed = allowed_reason_codes(SUBACK, False) if version == MQTT_5_0 else SUBACK_MQTT_3
    return Suback(packet_id, _reason_codes(SUBACK, reader, allowed), properties)


def _unsuback(reader: Reader, version: int) -> Packet:
    """Decode the body of an UNSUBACK: `packet identifier u16 | properties | reason code u8...`.

    Properties and reason codes exist in MQTT 5.0 only.
    """
    packet_id = reader.packet_id()
    if version != MQTT_5_0:
        return Unsuback(packet_id, [])
    properties = _properties(UNSUBACK, reader, False)
    allowed = allowed_reason_codes(UNSUBACK, False)
    return Unsuback(packet_id, _reason_codes(UNSUBACK, reader, allowed), properties)


def _reason_codes(kind: int, reader: Reader, allowed: frozenset[int]) -> list[int]:
    codes = [reader.byte("reason code")]
    while not reader.at_end():
        codes.append(reader.byte("reason code"))
    for code in codes:
        check_reason_code(kind, code, allowed)
    return codes

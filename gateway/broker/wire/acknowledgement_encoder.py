"""Encoder for PUBACK, PUBREC, PUBREL and PUBCOMP packets without properties."""

from typing import Final

from gateway.broker.wire.kinds import MQTT_5_0, PUBREL
from gateway.broker.wire.writing import BYTE

# The first three bytes of every short acknowledgement: type, length 2, high byte of the
# identifier.
_PUBACK: Final = [bytes([0x40, 2, high]) for high in range(256)]
_PUBREC: Final = [bytes([0x50, 2, high]) for high in range(256)]
_PUBREL: Final = [bytes([0x62, 2, high]) for high in range(256)]
_PUBCOMP: Final = [bytes([0x70, 2, high]) for high in range(256)]


def puback(packet_id: int) -> bytes:
    """Encode a PUBACK that reports success. The encoding is the same in every MQTT version."""
    return _PUBACK[packet_id >> 8] + BYTE[packet_id & 0xFF]


def pubrec(packet_id: int) -> bytes:
    return _PUBREC[packet_id >> 8] + BYTE[packet_id & 0xFF]


def pubrel(packet_id: int) -> bytes:
    return _PUBREL[packet_id >> 8] + BYTE[packet_id & 0xFF]


def pubcomp(packet_id: int) -> bytes:
    return _PUBCOMP[packet_id >> 8] + BYTE[packet_id & 0xFF]


def acknowledgement(kind: int, packet_id: int, reason_code: int, version: int) -> bytes:
    """Encode an acknowledgement without properties. [MQTT5-3.4.2.1]

    `kind` is the packet type, such as PUBREC, and `version` is the protocol level. The reason code
    is included in MQTT 5.0 only, and omitted if it is 0.
    """
    first = BYTE[kind << 4 | (0x02 if kind == PUBREL else 0)]
    body = BYTE[packet_id >> 8] + BYTE[packet_id & 0xFF]
    if version == MQTT_5_0 and reason_code:
        return first + b"\x03" + body + BYTE[reason_code]
    return first + b"\x02" + body

"""Encoder for CONNECT packets. Their layout is documented in connect_decoder.py."""

from gateway.broker.wire.kinds import CONNECT, MQTT_3_1, MQTT_5_0
from gateway.broker.wire.packets import Connect
from gateway.broker.wire.property_encoder import encode_properties
from gateway.broker.wire.writing import BYTE, binary_field, frame_of, string_field


def encode_connect(connect: Connect) -> bytes:
    version = connect.protocol_level
    parts = [
        string_field("MQIsdp" if version == MQTT_3_1 else "MQTT"),
        BYTE[version],
        BYTE[_flags(connect)],
        connect.keep_alive_seconds.to_bytes(2, "big"),
    ]
    if version == MQTT_5_0:
        parts.append(encode_properties(connect.properties))
    parts.append(string_field(connect.client_id))
    will = connect.will
    if will is not None:
        if version == MQTT_5_0:
            parts.append(encode_properties(will.properties))
        parts.append(string_field(will.topic))
        parts.append(binary_field(will.payload))
    if connect.username is not None:
        parts.append(string_field(connect.username))
    if connect.password is not None:
        parts.append(binary_field(connect.password))
    return frame_of(CONNECT << 4, b"".join(parts))


def _flags(connect: Connect) -> int:
    flags = 0x02 if connect.clean_start else 0
    if connect.will is not None:
        flags |= 0x04 | connect.will.qos << 3
        if connect.will.retain:
            flags |= 0x20
    if connect.username is not None:
        flags |= 0x80
    if connect.password is not None:
        # [MQTT-3.1.2-22]
        assert connect.username is not None or connect.protocol_level == MQTT_5_0, (
            "a password without a user name exists in MQTT 5.0 only"
        )
        flags |= 0x40
    return flags

"""Encoder for all packets. `version` is the protocol level of the peer: 3, 4 or 5.

Fields that MQTT 3 does not have (properties, reason codes of acknowledgements) are omitted for an
MQTT 3 peer. A packet that cannot be encoded is a bug in the caller, and causes an assertion to
fail.
"""

from typing import Final

from librt.strings import BytesWriter

from gateway.broker.wire.connect_encoder import encode_connect
from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    DISCONNECT,
    MQTT_3_1,
    MQTT_5_0,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
)
from gateway.broker.wire.limits import PACKET_ID_MAX
from gateway.broker.wire.packets import (
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Properties,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from gateway.broker.wire.property_encoder import encode_properties
from gateway.broker.wire.writing import (
    BYTE,
    frame_of,
    packet_id_field,
    string_field,
    variable_byte_integer,
)

PINGREQ: Final = b"\xc0\x00"
PINGRESP: Final = b"\xd0\x00"


def publish_frame(  # noqa: PLR0917 - hot: keywords cost
    topic_field: bytes,
    payload: bytes,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    version: int,
    properties: Properties | None = None,
) -> bytes:
    """Encode a PUBLISH from its parts.

    `topic_field` is the encoded topic (u16 length, then UTF-8), as in `Publish.topic_field`.
    """
    field = encode_properties(properties) if version == MQTT_5_0 else b""
    return raw_publish_frame(topic_field, payload, qos, retain, dup, packet_id, field)


def raw_publish_frame(  # noqa: PLR0917 - hot: keywords cost
    topic_field: bytes,
    payload: bytes,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    properties_field: bytes,
) -> bytes:
    """Encode a PUBLISH from its parts, with properties that are already encoded.

    `properties_field` begins with the length of the properties. It is empty for MQTT 3.
    """
    first = 0x30 | qos << 1
    if retain:
        first |= 0x01
    if dup:
        first |= 0x08
    remaining = len(topic_field) + len(payload) + len(properties_field)
    if qos:
        assert 0 < packet_id <= PACKET_ID_MAX, f"packet identifier {packet_id}: expected 1 to 65535"
        remaining += 2
    frame = BytesWriter()
    frame.append(first)
    if remaining < 128:
        frame.append(remaining)
    else:
        frame.write(variable_byte_integer(remaining))
    frame.write(topic_field)
    if qos:
        frame.append(packet_id >> 8)
        frame.append(packet_id & 0xFF)
    if properties_field:
        frame.write(properties_field)
    frame.write(payload)
    return frame.getvalue()


def encode(packet: Packet, version: int) -> bytes:  # noqa: PLR0911 - one for each packet
    """Encode any packet for a peer with protocol level `version`.

    For a Connect, `version` is ignored, because the packet contains its own protocol level.
    """
    if isinstance(packet, Publish):
        return _publish(packet, version)
    if isinstance(packet, Acknowledgement):
        return _acknowledgement(packet, version)
    if isinstance(packet, Connect):
        return encode_connect(packet)
    if isinstance(packet, Connack):
        return _connack(packet, version)
    if isinstance(packet, Subscribe):
        return _subscribe(packet, version)
    if isinstance(packet, Suback):
        return _suback(packet, version)
    if isinstance(packet, Unsubscribe):
        return _unsubscribe(packet, version)
    if isinstance(packet, Unsuback):
        return _unsuback(packet, version)
    if isinstance(packet, Pingreq):
        return PINGREQ
    if isinstance(packet, Pingresp):
        return PINGRESP
    if isinstance(packet, Disconnect):
        return _disconnect(packet, version)
    assert isinstance(packet, Auth), f"{packet!r}: expected a packet of MQTT"
    return _auth(packet, version)


def _publish(publish: Publish, version: int) -> bytes:
    assert (publish.packet_id != 0) == (publish.qos != 0), (
        f"PUBLISH at QoS {publish.qos} with packet identifier {publish.packet_id}: "
        "expected an identifier at QoS 1 and 2 only"
    )
    return publish_frame(
        publish.topic_field,
        publish.payload,
        publish.qos,
        publish.retain,
        publish.dup,
        publish.packet_id,
        version,
        publish.properties,
    )


def _properties(properties: Properties | None, version: int) -> bytes:
    return encode_properties(properties) if version == MQTT_5_0 else b""


def _short_answer(reason_code: int, properties: Properties | None) -> bytes:
    """Encode a reason code and properties as `[reason code u8 | [properties]]`. [MQTT5-3.4.2.1]

    If `properties` is None, the properties are omitted. A reason code of 0 is then omitted too.
    """
    if properties is not None:
        return BYTE[reason_code] + encode_properties(properties)
    return BYTE[reason_code] if reason_code else b""


def _acknowledgement(packet: Acknowledgement, version: int) -> bytes:
    body = packet_id_field(packet.packet_id)
    if version == MQTT_5_0:
        body += _short_answer(packet.reason_code, packet.properties)
    return frame_of(packet.kind << 4 | (0x02 if packet.kind == PUBREL else 0), body)


def _connack(connack: Connack, version: int) -> bytes:
    # MQTT 3.1, section 3.2: the first byte is reserved
    present = connack.session_present and version != MQTT_3_1
    body = BYTE[1 if present else 0] + BYTE[connack.reason_code]
    return frame_of(CONNACK << 4, body + _properties(connack.properties, version))


def _subscribe(subscribe: Subscribe, version: int) -> bytes:
    parts = [packet_id_field(subscribe.packet_id), _properties(subscribe.properties, version)]
    for subscription in subscribe.subscriptions:
        parts.append(string_field(subscription.topic_filter))
        parts.append(BYTE[_options(subscription, version)])
    return frame_of(SUBSCRIBE << 4 | 0x02, b"".join(parts))


def _options(subscription: Subscription, version: int) -> int:
    options = subscription.qos
    if version == MQTT_5_0:
        options |= subscription.retain_handling << 4
        if subscription.no_local:
            options |= 0x04
        if subscription.retain_as_published:
            options |= 0x08
    return options


def _suback(suback: Suback, version: int) -> bytes:
    body = packet_id_field(suback.packet_id) + _properties(suback.properties, version)
    return frame_of(SUBACK << 4, body + bytes(suback.reason_codes))


def _unsubscribe(unsubscribe: Unsubscribe, version: int) -> bytes:
    parts = [packet_id_field(unsubscribe.packet_id), _properties(unsubscribe.properties, version)]
    for topic_filter in unsubscribe.topic_filters:
        parts.append(string_field(topic_filter))
    return frame_of(UNSUBSCRIBE << 4 | 0x02, b"".join(parts))


def _unsuback(unsuback: Unsuback, version: int) -> bytes:
    body = packet_id_field(unsuback.packet_id)
    if version == MQTT_5_0:
        body += encode_properties(unsuback.properties) + bytes(unsuback.reason_codes)
    return frame_of(UNSUBACK << 4, body)


def _disconnect(disconnect: Disconnect, version: int) -> bytes:
    body = b""
    if version == MQTT_5_0:
        body = _short_answer(disconnect.reason_code, disconnect.properties)
    return frame_of(DISCONNECT << 4, body)


def _auth(auth: Auth, version: int) -> bytes:
    assert version == MQTT_5_0, f"AUTH at protocol level {version}: expected 5"
    if auth.reason_code == 0 and auth.properties is None:
        return frame_of(AUTH << 4, b"")
    return frame_of(AUTH << 4, BYTE[auth.reason_code] + encode_properties(auth.properties))

"""Decoder for PUBLISH packets.

A PUBLISH has this layout (u2 and u16 are unsigned integers of 2 and 16 bits)::

    0011 | DUP | QoS u2 | RETAIN | remaining length |
    topic name string | packet identifier u16 (QoS 1, 2) | properties (5.0) | payload

Most received bytes belong to PUBLISH packets. To save time, a well-formed PUBLISH is decoded
without a Reader (`reading.py`).
"""

from typing import Final

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR
from gateway.broker.wire.fixed_header import check_publish_flags
from gateway.broker.wire.kinds import MQTT_5_0, PUBLISH
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Publish
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_tables import FROM_CLIENT, FROM_SERVER
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.topic_cache import TOPICS

_KNOWN: Final = TOPICS.known
_TOPIC_FIELD_OF_ALIAS: Final = b"\x00\x00"


def decode_publish(  # noqa: PLR0917 - hot: keywords cost
    data: bytes,
    position: int,
    start: int,
    stop: int,
    version: int,
    from_client: bool,
    allows_control_characters: bool,
) -> Publish:
    """Decode the PUBLISH in data[position:stop]. Its topic name field begins at `start`."""
    first = data[position]
    qos = first >> 1 & 3
    if qos == 3 or (qos == 0 and first & 0x08):
        check_publish_flags(first)
    if start + 2 > stop:
        raise Reader(data, start, stop, "PUBLISH").truncated("topic name", 2)
    body = start + 2 + (data[start] << 8 | data[start + 1])
    if body > stop:
        raise Reader(data, start + 2, stop, "PUBLISH").truncated("topic name", body - start - 2)
    topic_field = data[start:body]
    topic = _KNOWN.get(topic_field)
    if topic is None:
        topic = _new_topic(topic_field, version, allows_control_characters)
    packet_id = 0
    if qos:
        if body + 2 > stop:
            raise Reader(data, body, stop, "PUBLISH").truncated("packet identifier", 2)
        packet_id = data[body] << 8 | data[body + 1]
        body += 2
        if packet_id == 0:
            raise zero_packet_id("PUBLISH")
    properties = None
    if version == MQTT_5_0:
        if body < stop and data[body] == 0:
            body += 1
        else:
            reader = Reader(data, body, stop, "PUBLISH")
            properties = _properties(reader, from_client)
            body = reader.position
        if not topic:
            _check_alias(properties)
    return Publish(
        topic,
        data[body:stop],
        qos,
        first & 0x01 != 0,
        first & 0x08 != 0,
        packet_id,
        properties,
        topic_field,
        b"" if qos else data[position:stop],
    )


def zero_packet_id(packet_name: str) -> Malformed:
    # [MQTT-2.3.1-1] [MQTT5-2.2.1-3]
    return Malformed(
        wrong.PACKET_ID_ZERO,
        f"{packet_name} has packet identifier 0: expected 1 to 65535",
        PROTOCOL_ERROR,
    )


def _new_topic(topic_field: bytes, version: int, allows_control_characters: bool) -> str:
    if version == MQTT_5_0 and topic_field == _TOPIC_FIELD_OF_ALIAS:
        return ""
    return TOPICS.learn(topic_field, allows_control_characters)


def _properties(reader: Reader, from_client: bool) -> Properties | None:
    allowed = FROM_CLIENT[PUBLISH] if from_client else FROM_SERVER[PUBLISH]
    return read_properties(reader, allowed)


def _check_alias(properties: Properties | None) -> None:
    # [MQTT5-3.3.2.1] an empty topic name means that an alias is used
    if properties is None or properties.topic_alias is None:
        raise Malformed(
            wrong.TOPIC_NAME,
            "PUBLISH has an empty topic name and no topic alias: expected one of them",
            PROTOCOL_ERROR,
        )

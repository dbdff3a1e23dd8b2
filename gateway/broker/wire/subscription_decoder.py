"""Decoder for SUBSCRIBE and UNSUBSCRIBE packets.

Their bodies have this layout (uN is an unsigned integer of N bits, `...` means repetition)::

    SUBSCRIBE    packet identifier u16 | properties (5.0) | (topic filter string | options u8)...
    UNSUBSCRIBE  packet identifier u16 | properties (5.0) | topic filter string...

    options: reserved u2 | retain handling u2 | retain as published u1 | no local u1 | QoS u2
             (MQTT 3.1 and 3.1.1: reserved u6 | QoS u2)
"""

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR, QUOTA_EXCEEDED
from gateway.broker.wire.kinds import MQTT_5_0, SUBSCRIBE, UNSUBSCRIBE
from gateway.broker.wire.limits import FILTERS_PER_PACKET_MAX
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Subscribe, Subscription, Unsubscribe
from gateway.broker.wire.property_decoder import read_properties
from gateway.broker.wire.property_tables import FROM_CLIENT
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.topics import (
    is_shared_filter,
    validate_shared_filter,
    validate_topic_filter,
)


def decode_subscribe(reader: Reader, version: int) -> Subscribe:
    packet_id = reader.packet_id()
    properties = None
    if version == MQTT_5_0:
        properties = read_properties(reader, FROM_CLIENT[SUBSCRIBE])
        if properties is not None and len(properties.subscription_identifiers) > 1:
            # [MQTT5-3.8.2.1.2]; in a PUBLISH there may be several
            raise Malformed(
                wrong.PROPERTY_DUPLICATE,
                "SUBSCRIBE has the property subscription identifier twice: expected it once",
                PROTOCOL_ERROR,
            )
    _check_not_empty(reader)
    subscriptions: list[Subscription] = []
    while not reader.at_end():
        _check_count(reader, len(subscriptions))
        topic_filter = _topic_filter(reader, version)
        options = reader.byte("subscription options")
        subscriptions.append(_subscription(topic_filter, options, version))
    return Subscribe(packet_id, subscriptions, properties)


def decode_unsubscribe(reader: Reader, version: int) -> Unsubscribe:
    packet_id = reader.packet_id()
    properties = None
    if version == MQTT_5_0:
        properties = read_properties(reader, FROM_CLIENT[UNSUBSCRIBE])
    _check_not_empty(reader)
    topic_filters: list[str] = []
    while not reader.at_end():
        _check_count(reader, len(topic_filters))
        topic_filters.append(_topic_filter(reader, version))
    return Unsubscribe(packet_id, topic_filters, properties)


def _check_not_empty(reader: Reader) -> None:
    # [MQTT-3.8.3-3] [MQTT-3.10.3-2] [MQTT5-3.8.3-2] [MQTT5-3.10.3-2]
    if reader.at_end():
        raise Malformed(
            wrong.NO_FILTERS,
            f"{reader.packet_name} has no topic filter: expected at least one",
            PROTOCOL_ERROR,
        )


def _check_count(reader: Reader, count: int) -> None:
    if count >= FILTERS_PER_PACKET_MAX:
        raise Malformed(
            wrong.TOO_MANY_ENTRIES,
            f"{reader.packet_name} has more than {FILTERS_PER_PACKET_MAX} topic filters: "
            "send them in several packets",
            QUOTA_EXCEEDED,
        )


def _topic_filter(reader: Reader, version: int) -> str:
    topic_filter = reader.string("topic filter")
    if version == MQTT_5_0 and is_shared_filter(topic_filter):
        error = validate_shared_filter(topic_filter)
    else:
        error = validate_topic_filter(topic_filter)
    if error is not None:
        raise Malformed(wrong.TOPIC_FILTER, f"{reader.packet_name}: {error}", PROTOCOL_ERROR)
    return topic_filter


def _subscription(topic_filter: str, options: int, version: int) -> Subscription:
    qos = options & 3
    # [MQTT-3.8.3-4] [MQTT5-3.8.3-5]
    reserved = options >> 6 if version == MQTT_5_0 else options >> 2
    if reserved:
        raise Malformed(
            wrong.SUBSCRIPTION_OPTIONS,
            f"SUBSCRIBE has reserved bits set in the options {options:08b}: expected 0",
        )
    if qos == 3:
        raise Malformed(wrong.QOS_INVALID, "SUBSCRIBE asks for QoS 3: expected 0, 1 or 2")
    no_local = options & 0x04 != 0
    retain_handling = options >> 4 & 3
    # [MQTT5-3.8.3.1]
    if retain_handling == 3:
        raise Malformed(
            wrong.SUBSCRIPTION_OPTIONS,
            "SUBSCRIBE has retain handling 3: expected 0, 1 or 2",
            PROTOCOL_ERROR,
        )
    # [MQTT5-3.8.3-4]
    if no_local and is_shared_filter(topic_filter):
        raise Malformed(
            wrong.SUBSCRIPTION_OPTIONS,
            "SUBSCRIBE has no local set for a shared subscription: expected 0",
            PROTOCOL_ERROR,
        )
    return Subscription(topic_filter, qos, no_local, options & 0x08 != 0, retain_handling)

"""Strategies for packets of every kind: everything that a version can express."""

from collections.abc import Callable

from hypothesis import strategies as st

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
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
    Will,
)
from gateway.broker.wire.reason_codes import CONNACK_MQTT_3, SUBACK_MQTT_3, allowed_reason_codes

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
topics = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=20
)
filters = st.one_of(
    topics.filter(lambda topic: not topic.startswith("$share/")),
    st.sampled_from(["#", "+", "a/+/#", "+/b", "$share/g/a/#", "$SYS/#"]),
)
payloads = st.binary(max_size=300)
packet_ids = st.integers(1, 65_535)
two_bytes = st.integers(0, 65_535)
four_bytes = st.integers(0, 0xFFFFFFFF)
bits = st.integers(0, 1)
user_properties = st.lists(st.tuples(text, text), max_size=3)
qos_levels = st.integers(0, 2)

VALUES: dict[str, st.SearchStrategy[object]] = {
    "payload_format_indicator": bits,
    "message_expiry_interval_seconds": four_bytes,
    "content_type": text,
    "response_topic": topics,
    "correlation_data": payloads,
    "session_expiry_interval_seconds": four_bytes,
    "assigned_client_identifier": text,
    "server_keep_alive_seconds": two_bytes,
    "request_problem_information": st.booleans(),
    "will_delay_interval_seconds": four_bytes,
    "request_response_information": st.booleans(),
    "response_information": text,
    "server_reference": text,
    "reason_string": text,
    "receive_maximum": packet_ids,
    "topic_alias_maximum": two_bytes,
    "topic_alias": packet_ids,
    "maximum_qos": bits,
    "retain_available": st.booleans(),
    "maximum_packet_size_bytes": st.integers(1, 0xFFFFFFFF),
    "wildcard_subscription_available": st.booleans(),
    "subscription_identifiers_available": st.booleans(),
    "shared_subscription_available": st.booleans(),
    "subscription_identifiers": st.lists(st.integers(1, 268_435_455), max_size=3),
    "user_properties": user_properties,
}
MESSAGE = (
    "payload_format_indicator message_expiry_interval_seconds content_type response_topic "
    "correlation_data user_properties"
)
ANSWER = "reason_string user_properties"


@st.composite
def properties_of(draw: st.DrawFn, names: str, authentication: bool = False) -> Properties | None:
    """Draw a subset of the properties `names`, or None for an empty one, as the decoder does."""
    made = Properties()
    empty = Properties()
    for name in draw(st.lists(st.sampled_from(names.split()), unique=True)):
        setattr(made, name, draw(VALUES[name]))
    if authentication and draw(st.booleans()):
        made.authentication_method = draw(text)
        made.authentication_data = draw(st.none() | payloads)
    return None if made == empty else made


def _properties(draw: st.DrawFn, version: int, names: str) -> Properties | None:
    return draw(properties_of(names)) if version == 5 else None


@st.composite
def connects(draw: st.DrawFn, version: int) -> Connect:
    will = None
    if draw(st.booleans()):
        will_properties = _properties(draw, version, MESSAGE + " will_delay_interval_seconds")
        will = Will(
            draw(topics), draw(payloads), draw(qos_levels), draw(st.booleans()), will_properties
        )
    username = draw(st.none() | text)
    password = draw(st.none() | payloads)
    if username is None and version != 5:
        password = None
    properties = None
    if version == 5:
        names = (
            "session_expiry_interval_seconds receive_maximum maximum_packet_size_bytes "
            "topic_alias_maximum request_response_information request_problem_information "
            "user_properties"
        )
        properties = draw(properties_of(names, authentication=True))
    clean_start = draw(st.booleans())
    return Connect(
        version, draw(text), clean_start, draw(two_bytes), will, username, password, properties
    )


@st.composite
def connacks(draw: st.DrawFn, version: int) -> Connack:
    allowed = allowed_reason_codes(2, False) if version == 5 else CONNACK_MQTT_3
    reason_code = draw(st.sampled_from(sorted(allowed)))
    present = reason_code == 0 and version != 3 and draw(st.booleans())
    names = (
        "session_expiry_interval_seconds receive_maximum maximum_qos retain_available "
        "maximum_packet_size_bytes assigned_client_identifier topic_alias_maximum reason_string "
        "user_properties wildcard_subscription_available subscription_identifiers_available "
        "shared_subscription_available server_keep_alive_seconds response_information "
        "server_reference"
    )
    properties = draw(properties_of(names, authentication=True)) if version == 5 else None
    return Connack(present, reason_code, properties)


@st.composite
def publishes(draw: st.DrawFn, version: int, from_client: bool) -> Publish:
    qos = draw(qos_levels)
    names = MESSAGE + " topic_alias" + ("" if from_client else " subscription_identifiers")
    properties = _properties(draw, version, names)
    topic = draw(topics)
    if properties is not None and properties.topic_alias is not None and draw(st.booleans()):
        topic = ""
    dup = qos > 0 and draw(st.booleans())
    packet_id = draw(packet_ids) if qos else 0
    return Publish(topic, draw(payloads), qos, draw(st.booleans()), dup, packet_id, properties)


@st.composite
def acknowledgements(
    draw: st.DrawFn,
    make: Callable[[int, int, Properties | None], Acknowledgement],
    kind: int,
    version: int,
) -> Acknowledgement:
    reason_code = 0
    if version == 5:
        reason_code = draw(st.sampled_from(sorted(allowed_reason_codes(kind, True))))
    return make(draw(packet_ids), reason_code, _properties(draw, version, ANSWER))


@st.composite
def subscriptions(draw: st.DrawFn, version: int) -> Subscription:
    topic_filter = draw(filters)
    if version != 5:
        return Subscription(topic_filter, draw(qos_levels))
    no_local = draw(st.booleans()) and not topic_filter.startswith("$share/")
    retain_handling = draw(st.integers(0, 2))
    return Subscription(
        topic_filter, draw(qos_levels), no_local, draw(st.booleans()), retain_handling
    )


@st.composite
def subscribes(draw: st.DrawFn, version: int) -> Subscribe:
    wanted = draw(st.lists(subscriptions(version), min_size=1, max_size=5))
    properties = _properties(draw, version, "user_properties")
    if version == 5 and draw(st.booleans()):
        properties = properties or Properties()
        properties.subscription_identifiers = [draw(st.integers(1, 268_435_455))]
    return Subscribe(draw(packet_ids), wanted, properties)


@st.composite
def subacks(draw: st.DrawFn, version: int) -> Suback:
    allowed = allowed_reason_codes(9, False) if version == 5 else SUBACK_MQTT_3
    codes = draw(st.lists(st.sampled_from(sorted(allowed)), min_size=1, max_size=5))
    return Suback(draw(packet_ids), codes, _properties(draw, version, ANSWER))


@st.composite
def unsubscribes(draw: st.DrawFn, version: int) -> Unsubscribe:
    topic_filters = draw(st.lists(filters, min_size=1, max_size=5))
    return Unsubscribe(
        draw(packet_ids), topic_filters, _properties(draw, version, "user_properties")
    )


@st.composite
def unsubacks(draw: st.DrawFn, version: int) -> Unsuback:
    codes: list[int] = []
    if version == 5:
        allowed = sorted(allowed_reason_codes(11, False))
        codes = draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=5))
    return Unsuback(draw(packet_ids), codes, _properties(draw, version, ANSWER))


@st.composite
def disconnects(draw: st.DrawFn, version: int, from_client: bool) -> Disconnect:
    if version != 5:
        return Disconnect()
    reason_code = draw(st.sampled_from(sorted(allowed_reason_codes(14, from_client))))
    side = "session_expiry_interval_seconds" if from_client else "server_reference"
    return Disconnect(reason_code, draw(properties_of(f"{ANSWER} {side}")))


@st.composite
def auths(draw: st.DrawFn, from_client: bool) -> Auth:
    reason_code = draw(st.sampled_from(sorted(allowed_reason_codes(15, from_client))))
    if reason_code == 0 and draw(st.booleans()):
        return Auth(0)
    properties = draw(properties_of(ANSWER)) or Properties()
    properties.authentication_method = draw(text)
    properties.authentication_data = draw(st.none() | payloads)
    return Auth(reason_code, properties)


def packets(version: int, from_client: bool) -> st.SearchStrategy[Packet]:
    """Draw a packet that this side may send after the CONNECT."""
    either: list[st.SearchStrategy[Packet]] = [
        publishes(version, from_client),
        acknowledgements(Puback, 4, version),
        acknowledgements(Pubrec, 5, version),
        acknowledgements(Pubrel, 6, version),
        acknowledgements(Pubcomp, 7, version),
    ]
    if version == 5:
        either += [auths(from_client), disconnects(version, from_client)]
    if from_client:
        own: list[st.SearchStrategy[Packet]] = [
            subscribes(version),
            unsubscribes(version),
            st.builds(Pingreq),
            disconnects(version, True),
        ]
    else:
        own = [connacks(version), subacks(version), unsubacks(version), st.builds(Pingresp)]
    return st.one_of([*either, *own])

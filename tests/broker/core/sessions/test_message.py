"""Messages and wills: flags and sizes."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.sessions.message import (
    HAS_PLACE,
    MESSAGE_BYTES,
    QOS,
    RETAIN,
    Message,
    Will,
)
from gateway.broker.wire.values import topic_field_of

topics = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(st.integers(0, 2), st.booleans(), st.booleans())
def test_the_flags_of_a_message_hold_its_qos_and_what_is_retained(
    qos: int, retain: bool, has_place: bool
) -> None:
    message = Message(1, "t", topic_field_of("t"), b"", qos, retain)
    message.has_place = has_place
    flags = message.flags()
    assert flags & QOS == qos
    assert (flags & RETAIN != 0, flags & HAS_PLACE != 0) == (retain, has_place)
    assert flags & ~(QOS | RETAIN | HAS_PLACE) == 0


@given(topics, st.binary(max_size=50), st.binary(max_size=50))
def test_a_message_weighs_its_topic_its_payload_and_its_properties(
    topic: str, payload: bytes, forwarded: bytes
) -> None:
    message = Message(1, topic, topic_field_of(topic), payload, 0, False, forwarded)
    assert message.size_bytes() == 2 + len(topic.encode()) + len(payload) + len(forwarded)


@given(topics, st.binary(max_size=50), st.binary(max_size=50))
def test_a_will_costs_what_a_retained_message_of_its_size_costs(
    topic: str, payload: bytes, forwarded: bytes
) -> None:
    field = topic_field_of(topic)
    message = Message(1, topic, field, payload, 0, False, forwarded)
    will = Will(topic, field, payload, 0, False, forwarded=forwarded)
    assert will.memory_bytes() == message.retained_bytes()
    assert will.memory_bytes() > MESSAGE_BYTES

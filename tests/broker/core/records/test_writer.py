"""The reader returns each fact as the writer wrote it, for any values of its fields."""

from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from gateway.broker.core.records import writer
from gateway.broker.core.records.kinds import (
    DropReason,
    EndReason,
    Observation,
    Origin,
    RecordKind,
    StartKind,
)
from gateway.broker.core.records.layout import NEVER_QUEUED
from gateway.broker.core.sessions.message import (
    KEY_SHIFT,
    SINGLE_SUBSCRIPTION,
    Delivery,
    Message,
    Will,
)
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.wire.values import topic_field_of
from tests.broker.core.records.written import fields_of, read

u16 = st.integers(0, 2**16 - 1)
u32 = st.integers(0, 2**32 - 1)
u63 = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
data = st.binary(max_size=30)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    topic = draw(texts)
    expires_ms, forwarded = draw(st.one_of(st.just((0, b"")), st.tuples(u63, data)))
    qos, retain = draw(st.integers(0, 2)), draw(st.booleans())
    return Message(
        draw(u63), topic, topic_field_of(topic), draw(data), qos, retain, forwarded, expires_ms
    )


@st.composite
def wills(draw: st.DrawFn) -> Will:
    topic = draw(texts)
    delay, expiry = draw(u32), draw(st.integers(-1, 2**32 - 1))
    qos, retain = draw(st.integers(0, 2)), draw(st.booleans())
    return Will(topic, topic_field_of(topic), draw(data), qos, retain, delay, expiry, draw(data))


def contents_of(message: Message) -> dict[str, object]:
    return {
        "message": message.number,
        "flags": message.flags(),
        "topic": message.topic,
        "payload": message.payload,
        "expires_ms": message.expires_ms,
        "forwarded": message.forwarded,
    }


@given(u32, u16, messages())
def test_a_held_message(session: int, packet_id: int, message: Message) -> None:
    records = BytesWriter()
    writer.write_held(records, session, packet_id, message)
    record = read(records)
    assert record.kind is RecordKind.MESSAGE_HELD
    assert fields_of(record) == contents_of(message) | {
        "session": session,
        "packet_id": packet_id,
        "origin": Origin.CLIENT,
        "matched": 0,
    }


@given(u32, messages(), st.sampled_from(Origin), u32)
def test_a_published_message(session: int, message: Message, origin: Origin, matched: int) -> None:
    records = BytesWriter()
    writer.write_published(records, session, message, origin, matched)
    record = read(records)
    assert record.kind is RecordKind.MESSAGE_PUBLISHED
    assert fields_of(record) == contents_of(message) | {
        "session": session,
        "packet_id": 0,
        "origin": origin,
        "matched": matched,
    }


@given(u32, u16, u63, u32, st.booleans())
def test_a_step_of_an_exchange(
    session: int, packet_id: int, message: int, matched: int, is_pubrel: bool
) -> None:
    step: dict[str, object] = {"session": session, "packet_id": packet_id, "message": message}
    records = BytesWriter()
    writer.write_released(records, session, packet_id, message, matched)
    assert fields_of(read(records)) == step | {"matched": matched, "is_pubrel": False}
    records = BytesWriter()
    writer.write_resent(records, session, packet_id, message, is_pubrel)
    assert fields_of(read(records)) == step | {"matched": 0, "is_pubrel": is_pubrel}


@given(st.integers(0, 31), u32, u63, u63, u16)
def test_a_place_in_a_queue_has_its_key_where_one_subscription_led_there(
    low_flags: int, key: int, message: int, position: int, packet_id: int
) -> None:
    through_one = low_flags & SINGLE_SUBSCRIPTION != 0
    flags = low_flags | (key << KEY_SHIFT if through_one else 0)
    delivery = Delivery(Session(5, "c", True), None, message, flags, position)
    expected: dict[str, object] = {
        "session": 5,
        "message": message,
        "flags": low_flags,
        "key": key if through_one else 0,
        "position": position,
    }
    records = BytesWriter()
    writer.write_queued(records, 5, delivery)
    assert fields_of(read(records)) == expected | {"packet_id": 0}
    records = BytesWriter()
    writer.write_started(records, 5, delivery, packet_id)
    assert fields_of(read(records)) == expected | {"packet_id": packet_id}


@given(u32, u63, st.sampled_from(DropReason), st.one_of(u63, st.just(writer.NO_POSITION)))
def test_a_dropped_message(session: int, message: int, reason: DropReason, position: int) -> None:
    records = BytesWriter()
    writer.write_dropped(records, session, message, reason, position)
    assert fields_of(read(records)) == {
        "session": session,
        "message": message,
        "reason": reason,
        "position": NEVER_QUEUED if position == writer.NO_POSITION else position,
    }


@given(u32, wills())
def test_a_will(session: int, will: Will) -> None:
    records = BytesWriter()
    writer.write_will(records, session, will)
    assert fields_of(read(records)) == {
        "session": session,
        "flags": will.qos | will.retain << 2,
        "delay_seconds": will.delay_seconds,
        "expiry_seconds": will.expiry_seconds,
        "topic": will.topic,
        "payload": will.payload,
        "forwarded": will.forwarded,
    }


@given(u32, texts, st.integers(0, 63), u32)
def test_a_subscription_and_its_end(
    session: int, topic_filter: str, options: int, identifier: int
) -> None:
    expected: dict[str, object] = {"session": session, "topic_filter": topic_filter}
    records = BytesWriter()
    writer.write_subscribed(records, session, Subscription(topic_filter, options, identifier))
    assert fields_of(read(records)) == expected | {"options": options, "identifier": identifier}
    records = BytesWriter()
    writer.write_unsubscribed(records, session, topic_filter)
    assert fields_of(read(records)) == expected | {"options": 0, "identifier": 0}


@given(u32, st.sampled_from(EndReason), u32, texts)
def test_what_changes_about_a_session(
    session: int, reason: EndReason, expiry: int, username: str
) -> None:
    records = BytesWriter()
    writer.write_ended(records, RecordKind.SESSION_ENDED, session, reason)
    assert fields_of(read(records)) == {"session": session, "reason": reason}
    records = BytesWriter()
    writer.write_expiry(records, session, expiry)
    assert fields_of(read(records)) == {"session": session, "expiry_seconds": expiry}
    records = BytesWriter()
    writer.write_owned(records, session, username)
    assert fields_of(read(records)) == {"session": session, "username": username}


@given(u63, texts, texts)
def test_a_retained_message_and_its_end(message: int, topic: str, source: str) -> None:
    records = BytesWriter()
    writer.write_retained(records, message, topic.encode(), source.encode())
    record = read(records)
    assert record.kind is RecordKind.RETAINED_SET
    assert fields_of(record) == {
        "session": 0,
        "topic": topic,
        "message": message,
        "source": source,
    }
    records = BytesWriter()
    writer.write_retained_cleared(records, topic.encode())
    assert fields_of(read(records)) == {
        "session": 0,
        "topic": topic,
        "message": 0,
        "source": "",
    }


def test_long_texts_of_peers_are_cut_also_within_a_character() -> None:
    records = BytesWriter()
    writer.write_observed(
        records, 3, Observation.PROTOCOL_ERROR, "\N{EURO SIGN}" * 400, "d" * 2_000
    )
    fields = fields_of(read(records))
    assert fields["subject"] == "\N{EURO SIGN}" * 333 + "\N{REPLACEMENT CHARACTER}"
    assert fields["detail"] == "d" * 1_000
    records = BytesWriter()
    writer.write_broker_started(records, StartKind.CLEAN, "1" * 300, "b" * 300)
    fields = fields_of(read(records))
    assert (fields["version"], fields["previous_boot"]) == ("1" * 255, "b" * 255)

"""Flow control of MQTT 5.0: receive maximum and maximum packet size, in both directions, and the
exchanges of QoS 1 and 2 with their reason codes."""

from pathlib import Path
from typing import Any

import pytest

from gateway.core.limits import Limits
from gateway.wire.packets import (
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from tests.core.harness import Harness, payloads, publishes
from tests.core.mqtt5 import connect, end_of, properties, publish, subscribe, subscriber


def publish_many(harness: Harness, count: int, qos: int = 1) -> None:
    publisher = harness.connect("publisher", clean=True)
    for number in range(count):
        publisher.send(Publish("t", b"%d" % number, qos, False, False, number + 1))
        if qos == 2:
            publisher.send(Pubrel(number + 1))
    harness.commit()


def drain(harness: Harness, client: object) -> list[Publish]:
    """Acknowledge one at a time; return what came, in order."""
    seen: list[Publish] = []
    waiting = publishes(client.take())  # type: ignore[attr-defined]
    while waiting:
        packet = waiting.pop(0)
        seen.append(packet)
        client.send(Puback(packet.packet_id))  # type: ignore[attr-defined]
        harness.commit()
        waiting += publishes(client.take())  # type: ignore[attr-defined]
    return seen


@pytest.mark.statement("MQTT5-3.3.4-9", "MQTT5-4.9.0-1", "MQTT5-4.9.0-2")
@pytest.mark.parametrize("receive_maximum", [1, 3])
def test_the_broker_has_no_more_in_flight_than_the_client_allows(
    harness: Harness, receive_maximum: int
) -> None:
    client = connect(harness, "c", receive_maximum=receive_maximum)
    subscribe(harness, client, Subscription("t", 2))
    publish_many(harness, 5, qos=2)
    first = publishes(client.take())
    assert len(first) == receive_maximum
    client.send(Pubrec(first[0].packet_id))
    harness.commit()
    assert publishes(client.take()) == []  # PUBREC frees nothing, PUBCOMP does
    client.send(Pubcomp(first[0].packet_id))
    harness.commit()
    assert len(publishes(client.take())) == 1


@pytest.mark.statement("MQTT5-3.3.4-10", "MQTT5-4.9.0-3")
def test_a_full_window_delays_nothing_but_qos_1_and_2(harness: Harness) -> None:
    client = connect(harness, "c", receive_maximum=1)
    subscribe(harness, client, Subscription("t", 2))
    publish_many(harness, 3, qos=2)
    (first,) = publishes(client.take())
    client.send(Pubrec(first.packet_id), Pingreq(), Subscribe(9, [Subscription("other", 0)]))
    harness.commit()
    publish(harness, connect(harness, "p"), "other", b"x", 0)
    packets = client.take()
    assert payloads(packets) == [b"x"]
    assert Pubrel(first.packet_id) in packets
    assert Pingresp() in packets
    assert Suback(9, [0]) in packets


@pytest.mark.statement("MQTT5-4.4.0-1", "MQTT5-4.6.0-1", "MQTT5-3.3.4-9")
def test_a_resume_with_a_smaller_receive_maximum_sends_the_rest_in_order_as_it_opens(
    harness: Harness,
) -> None:
    client = subscriber(harness, "c", "t", 1)
    publish_many(harness, 6)
    assert len(publishes(client.take())) == 6
    harness.lose(client)
    again = connect(harness, "c", receive_maximum=2)
    publish_many(harness, 2)  # behind those
    packets = publishes(again.take())
    assert [(packet.payload, packet.dup) for packet in packets] == [(b"0", True), (b"1", True)]
    again.received.extend(packets)
    seen = drain(harness, again)
    assert [packet.payload for packet in seen] == [b"%d" % n for n in (0, 1, 2, 3, 4, 5, 0, 1)]
    assert [packet.dup for packet in seen] == [True] * 6 + [False] * 2
    assert not harness.session("c").outbound


@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_acknowledged_before_it_was_sent_again_is_not_sent_again(
    harness: Harness, qos: int
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 3, qos)
    sent = publishes(client.take())
    harness.lose(client)
    again = connect(harness, "c", receive_maximum=1)
    assert payloads(again.take()) == [b"0"]
    # The client had received them all, and acknowledges late.
    answer = Puback if qos == 1 else Pubrec
    again.send(answer(sent[1].packet_id), answer(sent[2].packet_id))
    harness.commit()
    assert payloads(again.take()) == []
    again.send(answer(sent[0].packet_id))
    if qos == 2:
        again.send(*(Pubcomp(packet.packet_id) for packet in sent))
    harness.commit()
    assert payloads(again.take()) == []
    assert not harness.session("c").outbound
    assert not harness.session("c").unsent


@pytest.mark.statement("MQTT5-4.13.2-1")
def test_a_client_beyond_the_receive_maximum_it_was_granted_is_disconnected(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c")
    for packet_id in (1, 2, 1, 2):  # repeats are no new messages
        client.send(Publish("t", b"x", 2, False, packet_id == 2, packet_id))
    harness.commit()
    assert not client.closed
    client.send(Publish("t", b"x", 2, False, False, 3))
    harness.commit()
    assert end_of(client) == 0x93
    harness.close()


@pytest.mark.statement("MQTT5-4.13.2-1")
@pytest.mark.parametrize("version", [4, 5])
def test_qos_1_messages_that_wait_for_the_disk_count_towards_the_receive_maximum(
    tmp_path: Path, version: int
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c") if version == 5 else harness.connect("c")
    for _ in range(3):
        client.send(Publish("t", b"x", 1, False, False, 1), Publish("t", b"x", 1, False, False, 2))
        assert client.connection.receiving == 2
        harness.commit()
        assert client.connection.receiving == 0
    client.send(*(Publish("t", b"x", 1, False, False, number) for number in (1, 2, 3)))
    harness.commit()
    if version == 5:
        assert end_of(client) == 0x93
    else:
        assert not client.closed, "3.1.1 has no receive maximum"
    harness.close()


def test_a_receive_maximum_lowered_while_a_client_is_connected_does_not_end_its_connection(
    harness: Harness,
) -> None:
    client = connect(harness, "c")
    harness.limits.max_awaiting_rel = 1
    client.send(*(Publish("t", b"x", 2, False, False, number) for number in (1, 2)))
    harness.commit()
    codes = [packet.reason_code for packet in client.take() if isinstance(packet, Pubrec)]
    assert codes == [0x10, 0x97]
    assert not client.closed


@pytest.mark.statement("MQTT5-4.3.3-9")
def test_what_a_session_cannot_hold_is_refused_with_quota_exceeded_and_its_identifier_is_free(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    for packet_id in (1, 2):
        client = connect(harness, "c")
        client.send(Publish("t", b"x", 2, False, False, packet_id))
        harness.commit()
        harness.lose(client)
    client = connect(harness, "c")
    client.send(Publish("t", b"too many", 2, False, False, 3))
    harness.commit()
    assert client.take()[1:] == [Pubrec(3, 0x97)]
    assert harness.broker.statistics.errors == {"max_awaiting_rel": 1}
    client.send(Pubrel(1), Publish("t", b"fits", 2, False, False, 3))
    harness.commit()
    assert sorted(harness.session("c").inbound) == [2, 3]
    harness.close()


@pytest.mark.statement("MQTT5-3.1.2-24", "MQTT5-3.1.2-25")
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_too_large_for_a_client_is_dropped_for_it_alone_and_counted(
    tmp_path: Path, qos: int, kept: bool
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    small = connect(harness, "small", maximum_packet_size_bytes=60)
    subscribe(harness, small, Subscription("t", qos))
    large = subscriber(harness, "large", "t", qos)
    if kept:
        harness.lose(small)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x" * 100, qos)
    publisher.send(Pubrel(2))
    publish(harness, publisher, "t", b"fits", qos)
    publisher.send(Pubrel(2))
    harness.commit()
    if kept:
        small = connect(harness, "small", maximum_packet_size_bytes=60)
    assert payloads(small.take()) == [b"fits"]
    assert payloads(large.take()) == [b"x" * 100, b"fits"]
    assert harness.broker.statistics.dropped == {"too_large": 1}
    assert harness.session("small").queued_count == 0
    harness.close()


def test_a_resumed_message_that_became_too_large_ends_its_exchange(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 1)
    publish(harness, connect(harness, "p"), "t", b"x" * 100)
    harness.lose(client)
    client = connect(harness, "c", maximum_packet_size_bytes=60)
    assert publishes(client.take()) == []
    assert not harness.session("c").outbound
    harness.cut()
    assert not harness.session("c").outbound


@pytest.mark.statement("MQTT5-3.1.2-24")
def test_an_answer_too_large_for_the_client_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c", maximum_packet_size_bytes=30)
    client.take()
    client.send(Subscribe(1, [Subscription(f"t/{number}", 0) for number in range(40)]))
    harness.commit()
    assert end_of(client) == 0x95


@pytest.mark.statement("MQTT5-3.14.2-3", "MQTT5-3.1.2-29")
@pytest.mark.parametrize(
    ("asked", "says_why"),
    [
        ({}, True),
        ({"request_problem_information": False}, False),
        ({"maximum_packet_size_bytes": 30}, False),
    ],
)
def test_a_reason_string_is_left_out_where_it_does_not_fit_or_is_not_wanted(
    harness: Harness, asked: dict[str, Any], says_why: bool
) -> None:
    client = connect(harness, "c", **asked)
    client.send(Pubcomp(1), Publish("t", b"x", 0, False, False, 0, properties(topic_alias=9_999)))
    harness.commit()
    last = client.take()[-1]
    assert isinstance(last, Disconnect)
    assert last.reason_code == 0x94
    assert (last.properties is not None) is says_why
    assert last.properties is None or last.properties.session_expiry_interval_seconds is None


@pytest.mark.statement("MQTT5-4.4.0-2", "MQTT5-3.4.2-1", "MQTT5-3.5.2-1")
@pytest.mark.parametrize("qos", [1, 2])
def test_an_acknowledgement_with_an_error_ends_the_exchange_on_disk_too(
    harness: Harness, qos: int
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 1, qos)
    (packet,) = publishes(client.take())
    client.send((Puback if qos == 1 else Pubrec)(packet.packet_id, 0x80))
    harness.commit()
    assert client.take() == []
    harness.checkpoint()
    assert harness.rows() == {"inbound": 0, "outbound": 0, "queue": 0, "messages": 0}
    harness.cut()
    assert publishes(connect(harness, "c").take()) == []


@pytest.mark.parametrize(
    ("qos", "wrong"),
    [(1, Pubrec(1)), (1, Pubcomp(1)), (2, Puback(1)), (2, Pubcomp(1))],
)
def test_an_acknowledgement_of_another_qos_is_a_protocol_error_and_changes_nothing(
    harness: Harness, qos: int, wrong: Puback | Pubrec | Pubcomp
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 1, qos)
    (packet,) = publishes(client.take())
    wrong.packet_id = packet.packet_id
    client.send(wrong)
    harness.commit()
    assert end_of(client) == 0x82
    harness.cut()
    (again,) = publishes(connect(harness, "c").take())
    assert (again.packet_id, again.dup) == (packet.packet_id, True)


def test_acknowledgements_of_what_nobody_sent_are_survived(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    client.send(Puback(7), Pubrec(8), Pubcomp(9), Pubrec(10, 0x80), Pubrel(11))
    harness.commit()
    assert client.take() == [Pubrel(8, 0x92), Pubcomp(11, 0x92)]
    assert not client.closed


@pytest.mark.statement("MQTT5-3.7.2.1-1", "MQTT5-3.6.2-1")
def test_an_older_client_is_told_the_same_without_reason_codes(harness: Harness) -> None:
    client = harness.connect("c")
    client.take()
    client.send(Pubrec(8), Pubrel(11))
    harness.commit()
    assert client.take() == [Pubrel(8), Pubcomp(11)]


@pytest.mark.statement("MQTT5-4.3.2-4", "MQTT5-4.3.3-8", "MQTT5-2.2.1-5", "MQTT5-3.3.4-1")
def test_a_publisher_learns_that_nobody_listens(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    publish(harness, client, "t", b"x", 1)
    publish(harness, client, "t", b"x", 2)
    client.send(Pubrel(2))
    harness.commit()
    assert client.take() == [Puback(1, 0x10), Pubrec(2, 0x10), Pubcomp(2)]
    subscriber(harness, "s", "t", 1)
    publish(harness, client, "t", b"x", 1)
    publish(harness, client, "t", b"x", 2)
    assert client.take() == [Puback(1), Pubrec(2)]


@pytest.mark.statement("MQTT5-4.3.3-10", "MQTT5-4.3.3-11", "MQTT5-4.3.3-12")
@pytest.mark.parametrize("cut", [False, True])
def test_a_publish_repeated_before_pubrel_gets_success_and_one_after_pubcomp_is_new(
    harness: Harness, cut: bool
) -> None:
    watch = subscriber(harness, "s", "t", 0)
    client = connect(harness, "c")
    publish(harness, client, "t", b"1", 2)
    if cut:
        harness.cut()
        client = connect(harness, "c")
        watch = connect(harness, "s")
    client.take()
    publish(harness, client, "t", b"1", 2)
    assert client.take() == [Pubrec(2)]
    client.send(Pubrel(2))
    harness.commit()
    publish(harness, client, "t", b"2", 2)
    client.send(Pubrel(2))
    harness.commit()
    assert client.take() == [Pubcomp(2), Pubrec(2), Pubcomp(2)]
    assert payloads(watch.take()) == [b"1", b"2"]


@pytest.mark.statement("MQTT5-4.3.3-9", "MQTT5-3.5.2-1", "MQTT5-3.4.2-1")
def test_a_refused_message_leaves_its_identifier_free(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_retained = 1
    limits.check_payload_format = True
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c")
    publish(harness, client, "kept", b"x", 1, retain=True)
    client.take()
    publish(harness, client, "more", b"x", 2, retain=True)
    assert client.take() == [Pubrec(2, 0x97)]
    assert not harness.session("c").inbound
    publish(harness, client, "more", b"x", 1, retain=True)
    assert client.take() == [Puback(1, 0x97)]
    publish(harness, client, "t", b"\xff", 2, payload_format_indicator=1)
    assert client.take() == [Pubrec(2, 0x99)]
    publish(harness, client, "t", b"\xff", 1, payload_format_indicator=1)
    assert client.take() == [Puback(1, 0x99)]
    publish(harness, client, "t", "é".encode(), 2, payload_format_indicator=1)
    assert client.take() == [Pubrec(2, 0x10)]
    publish(harness, client, "t", b"\xff", 1, payload_format_indicator=0)
    assert client.take() == [Puback(1, 0x10)]
    harness.close()


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.2-1", "MQTT5-4.3.3-1", "MQTT5-4.3.2-2")
def test_identifiers_run_out_at_65535_and_wrap_over_those_in_flight(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = 100_000
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c", expiry=0)
    subscribe(harness, client, Subscription("t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(65_537):
        publisher.send(Publish("t", b"", 1, False, False, number % 65_535 + 1))
    harness.commit()
    first = publishes(client.take())
    assert [packet.packet_id for packet in first] == list(range(1, 65_536))
    client.send(Puback(40_000), Puback(7))
    harness.commit()
    assert [packet.packet_id for packet in publishes(client.take())] == [40_000, 7]
    harness.close()


@pytest.mark.statement(
    "MQTT5-4.3.3-2",
    "MQTT5-4.3.3-4",
    "MQTT5-4.3.3-5",
    "MQTT5-4.3.3-6",
    "MQTT5-4.3.3-3",
    "MQTT5-3.3.1-1",
)
def test_after_pubrec_it_is_pubrel_that_is_sent_again(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 2)
    publish_many(harness, 2, 2)
    first, second = publishes(client.take())
    assert not first.dup
    client.send(Pubrec(first.packet_id))
    harness.commit()
    assert client.take() == [Pubrel(first.packet_id)]
    for cut in (False, True):
        harness.lose(client)
        if cut:
            harness.cut()
        client = connect(harness, "c")
        _, *packets = client.take()
        assert packets[0] == Pubrel(first.packet_id)
        (again,) = publishes(packets)
        assert (again.packet_id, again.payload, again.dup) == (second.packet_id, b"1", True)


@pytest.mark.statement("MQTT5-4.4.0-1")
def test_nothing_is_sent_again_on_the_same_connection(tmp_path: Path) -> None:
    limits = Limits()
    limits.retry_interval_seconds = 1
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", 1)
    older = harness.subscriber("older", "t", 1)
    publish_many(harness, 1)
    assert len(publishes(client.take())) == len(publishes(older.take())) == 1
    harness.advance(5)
    assert publishes(client.take()) == []
    assert len(publishes(older.take())) > 0
    harness.close()


@pytest.mark.statement("MQTT5-3.8.4-8", "MQTT5-4.5.0-1")
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("sent", [0, 1, 2])
def test_the_qos_delivered_is_the_smaller_of_two(
    tmp_path: Path, sent: int, granted: int, away: bool
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", granted)
    if away:
        harness.lose(client)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x", sent)
    publisher.send(Pubrel(2))
    harness.commit()
    if away:
        harness.cut()
        client = connect(harness, "c")
    (packet,) = publishes(client.take())
    assert packet.qos == min(sent, granted)
    harness.close()


def test_a_slow_subscriber_keeps_nobody_waiting(harness: Harness) -> None:
    stuck = subscriber(harness, "stuck", "t", 1)
    full = connect(harness, "full", receive_maximum=1)
    subscribe(harness, full, Subscription("t", 1))
    quick = subscriber(harness, "quick", "t", 1)
    harness.broker.set_writable(stuck.connection, False, harness.now)
    publish_many(harness, 30)
    assert len(drain(harness, quick)) == 30
    assert len(publishes(full.take())) == 1
    assert publishes(stuck.take()) == []
    harness.broker.set_writable(stuck.connection, True, harness.now)
    harness.commit()
    assert [packet.payload for packet in drain(harness, stuck)] == [b"%d" % n for n in range(30)]

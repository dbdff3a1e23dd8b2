"""A session: queue, packet identifiers, and what is left when everything is done."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.limits import Limits
from gateway.core.rules.retained import WAIT_SECONDS
from gateway.wire.packets import (
    Connack,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Will,
)
from tests.core.harness import Client, Harness, answer_all, payloads, publishes, send_many
from tests.core.mqtt5 import connect, subscribe, subscriber


def test_with_window_2_and_lost_acknowledgements_the_receiver_sees_1_2_3_2_3_4(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_inflight = 2
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    for number in range(1, 5):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number))
    harness.commit()
    seen = publishes(subscriber.take())
    subscriber.send(Puback(seen[0].packet_id))
    harness.commit()
    seen += publishes(subscriber.take())
    harness.lose(subscriber)
    again = harness.connect("s")
    resent = publishes(again.take())
    assert [packet.dup for packet in resent] == [True, True]
    again.send(Puback(resent[0].packet_id))
    harness.commit()
    resent += publishes(again.take())
    assert payloads([*seen, *resent]) == [b"1", b"2", b"3", b"2", b"3", b"4"]
    harness.close()


def test_a_long_queue_lives_on_disk_and_comes_back_in_order(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    send_many(harness, publisher, 700)
    harness.checkpoint()
    send_many(harness, publisher, 300)
    session = harness.session("s")
    assert (len(session.waiting), session.stored_count, len(session.recent)) == (0, 700, 300)
    harness.checkpoint()
    assert (len(session.waiting), session.stored_count, len(session.recent)) == (0, 1000, 0)
    harness.cut()
    assert harness.session("s").queued_count == 1000
    seen = answer_all(harness, harness.connect("s"))
    assert seen == [b"%d" % number for number in [*range(700), *range(300)]]
    harness.checkpoint()
    assert harness.rows() == {"inbound": 0, "outbound": 0, "queue": 0, "messages": 0}
    assert harness.session("s").queued_bytes == 0
    harness.close()


def test_a_message_queued_for_many_sessions_is_stored_once(harness: Harness) -> None:
    for number in range(5):
        harness.lose(harness.subscriber(f"s{number}", "t", 1))
    send_many(harness, harness.connect("p", clean=True), 3)
    harness.checkpoint()
    assert harness.rows("queue", "messages") == {"queue": 15, "messages": 3}


def test_a_clean_connect_discards_the_session_on_disk_too(harness: Harness) -> None:
    harness.lose(harness.subscriber("s", "t", 2))
    send_many(harness, harness.connect("p"), 10, qos=2)
    harness.checkpoint()
    assert harness.rows("queue")["queue"] == 10
    client = harness.connect("s", clean=True)
    assert client.take() == [Connack(False, 0)]
    harness.checkpoint()
    assert harness.rows("queue", "messages", "subscriptions") == {
        "queue": 0,
        "messages": 0,
        "subscriptions": 0,
    }
    harness.cut()
    assert "s" not in harness.broker.state.sessions
    assert harness.connect("s").take() == [Connack(False, 0)]


def test_retained_messages_survive_the_session_that_sent_them(harness: Harness) -> None:
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("r/1", b"kept", 1, True, False, 1))
    harness.commit()
    harness.lose(publisher)
    harness.checkpoint()
    harness.cut()
    subscriber = harness.connect("s", clean=True)
    subscriber.send(Subscribe(1, [Subscription("r/#", 1)]))
    harness.commit()
    (packet,) = publishes(subscriber.take())
    assert (packet.payload, packet.retain, packet.qos) == (b"kept", True, 1)


def test_a_will_survives_a_power_cut_of_the_broker(harness: Harness) -> None:
    harness.lose(harness.subscriber("watch", "w", 1))
    harness.connect("c", clean=True, will=Will("w", b"gone", 1, False))
    harness.cut()
    assert payloads(harness.connect("watch").take()) == [b"gone"]
    harness.cut()
    assert harness.broker.state.wills == {}


def test_a_full_queue_drops_the_newest_counts_it_and_says_so_once(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_mqueue_len = 3
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("s", "t", 1))
    send_many(harness, harness.connect("p", clean=True), 10)
    assert harness.broker.statistics.dropped == {"queue_full": 7}
    assert harness.session("s").dropped_messages == 7
    assert answer_all(harness, harness.connect("s")) == [b"0", b"1", b"2"]
    harness.close()


def test_a_packet_identifier_is_not_used_twice_at_a_time_and_wraps(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = 100_000
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1, clean=True)
    publisher = harness.connect("p", clean=True)
    send_many(harness, publisher, 65_540)
    first = publishes(subscriber.take())
    assert len({packet.packet_id for packet in first}) == len(first) == 65_535
    for packet in first[10:20]:
        subscriber.send(Puback(packet.packet_id))
    harness.commit()
    later = publishes(subscriber.take())
    assert [packet.packet_id for packet in later] == list(range(11, 16))
    harness.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_after_any_mix_of_finished_flows_nothing_is_left(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        limits = Limits()
        limits.max_inflight = data.draw(st.integers(1, 4))
        harness = Harness(Path(folder), limits)
        for number in range(data.draw(st.integers(1, 3))):
            clean = data.draw(st.booleans())
            harness.subscriber(f"s{number}", "t", data.draw(st.integers(0, 2)), clean=clean)
        for number in range(data.draw(st.integers(1, 4))):
            clean = data.draw(st.booleans())
            publisher = harness.connect(f"p{number % 2}", clean=clean)
            count, qos = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 2))
            send_many(harness, publisher, count, qos)
            if data.draw(st.booleans()):
                harness.checkpoint()
            if data.draw(st.booleans()):
                harness.cut()
        for client_id in list(harness.broker.state.sessions):
            answer_all(harness, harness.connect(client_id))
        harness.checkpoint()
        assert harness.rows() == {"inbound": 0, "outbound": 0, "queue": 0, "messages": 0}
        for session in harness.broker.state.sessions.values():
            assert not session.inbound
            assert not session.outbound
            assert session.queued_count == session.queued_bytes == 0
        changes = harness.broker.changes
        assert not changes.held
        assert not changes.deliveries
        assert not harness.broker.rules.core.output.withholding
        harness.close()


def test_a_retained_message_that_waits_at_qos_0_keeps_its_retain_flag(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 1
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("r", b"kept", 0, True, False, 0))
    send_many(harness, publisher, 3)
    subscriber.send(Subscribe(2, [Subscription("r", 0)]))
    harness.commit()
    seen = publishes(subscriber.take())
    for _ in range(3):
        subscriber.send(Puback(seen[-1].packet_id))
        harness.commit()
        seen += publishes(subscriber.take())
    harness.advance(WAIT_SECONDS)
    seen += publishes(subscriber.take())
    assert [(packet.payload, packet.retain) for packet in seen] == [
        (b"0", False),
        (b"1", False),
        (b"2", False),
        (b"kept", True),
    ]
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


ALL = 65_535


WAITING = 6


FREED = [40_000, 7, 65_535, 1]


def publish_numbers(harness: Harness, first: int, count: int, qos: int) -> None:
    publisher = harness.connect("p", clean=True)
    for number in range(first, first + count):
        packet_id = number % ALL + 1
        publisher.send(Publish("t", b"%d" % number, qos, False, False, packet_id))
        if qos == 2:
            publisher.send(Pubrel(packet_id))
    harness.commit()
    harness.lose(publisher)


def full_session(data_dir: Path, qos: int) -> tuple[Harness, Client]:
    """A persistent session with every identifier in flight, and some messages behind."""
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = ALL
    harness = Harness(data_dir, limits)
    client = subscriber(harness, "c", "t", qos)
    publish_numbers(harness, 0, ALL + WAITING, qos)
    return harness, client


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.2-1", "MQTT5-4.4.0-1", "MQTT5-4.6.0-1")
@pytest.mark.parametrize("cut", [False, True])
def test_identifiers_wrap_over_those_in_flight_and_the_order_stays(
    tmp_path: Path, cut: bool
) -> None:
    harness, client = full_session(tmp_path, 1)
    sent = {packet.packet_id: packet.payload for packet in publishes(client.take())}
    assert sent == {number + 1: b"%d" % number for number in range(ALL)}
    client.send(*(Puback(packet_id) for packet_id in FREED))
    harness.commit()
    for packet_id in FREED:
        del sent[packet_id]
    new = publishes(client.take())
    # As each PUBACK came, its identifier was the one that was free.
    assert [(packet.packet_id, packet.payload) for packet in new] == [
        (packet_id, b"%d" % (ALL + index)) for index, packet_id in enumerate(FREED)
    ]
    sent |= {packet.packet_id: packet.payload for packet in new}
    if cut:
        harness.checkpoint()
        harness.cut()
    else:
        harness.lose(client)
    client = connect(harness, "c")
    again = publishes(client.take())
    assert [(packet.packet_id, packet.payload) for packet in again] == list(sent.items())
    assert all(packet.dup for packet in again)
    client.send(Puback(30_000))
    harness.commit()
    (last,) = publishes(client.take())
    assert (last.packet_id, last.payload, last.dup) == (30_000, b"%d" % (ALL + 4), False)
    harness.close()


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.3-1", "MQTT5-4.3.3-4", "MQTT5-4.3.3-6")
def test_an_identifier_of_qos_2_is_free_at_pubcomp_and_not_at_pubrec(tmp_path: Path) -> None:
    harness, client = full_session(tmp_path, 2)
    assert len(publishes(client.take())) == ALL
    client.send(*(Pubrec(packet_id) for packet_id in FREED))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in FREED]
    harness.cut()
    client = connect(harness, "c")
    _, *packets = client.take()
    released = [packet.packet_id for packet in packets if isinstance(packet, Pubrel)]
    assert sorted(released) == sorted(FREED)
    assert len(publishes(packets)) == ALL - len(FREED)
    client.send(Pubcomp(FREED[0]))
    harness.commit()
    (new,) = publishes(client.take())
    assert (new.packet_id, new.payload) == (FREED[0], b"%d" % ALL)
    client.send(Pubrec(FREED[1], 0x80))  # an error ends this exchange too, in any state
    harness.commit()
    (new,) = publishes(client.take())
    assert (new.packet_id, new.payload) == (FREED[1], b"%d" % (ALL + 1))
    harness.close()

"""A session: its queue, its packet identifiers, and no remains of finished exchanges."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.broker.core.limits import Limits
from gateway.broker.core.rules.subscribe.retained import WAIT_SECONDS
from gateway.broker.wire.packets import (
    Connack,
    Puback,
    Publish,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.core.draining import answer_all
from tests.broker.core.harness import Harness, payloads, publishes, send_many


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


def test_a_full_queue_drops_the_newest_counts_it_and_reports_it_once(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_mqueue_len = 3
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("s", "t", 1))
    send_many(harness, harness.connect("p", clean=True), 10)
    assert harness.broker.statistics.dropped == {"queue_full": 7}
    assert harness.session("s").dropped_messages == 7
    assert answer_all(harness, harness.connect("s")) == [b"0", b"1", b"2"]
    harness.close()


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
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
        changes = harness.broker.state.changes
        assert not changes.held
        assert not changes.deliveries
        assert not harness.broker.core.output.withholding
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

"""`max_retained` and `max_retained_bytes`: who is told, and what becomes of the older message."""

from pathlib import Path

import pytest

from gateway.core.limits import Limits
from gateway.wire.packets import Packet, Puback, Pubcomp, Publish, Pubrec, Pubrel, Subscription
from tests.core.harness import Client, Harness, payloads
from tests.core.mqtt5 import connect, properties, publish, subscribe


def limited(tmp_path: Path, count: int = 100, size_bytes: int = 3_000) -> Harness:
    limits = Limits()
    limits.max_retained = count
    limits.max_retained_bytes = size_bytes
    return Harness(tmp_path, limits)


def retained(harness: Harness) -> dict[str, bytes]:
    messages = harness.broker.state.retained
    return {topic: message.payload[:3] for topic, message in messages.items()}


def retain(harness: Harness, client: Client, topic: str, payload: bytes, qos: int) -> list[Packet]:
    """Publish to be retained, with PUBREL where there is one to send; return the answers."""
    client.take()
    publish(harness, client, topic, payload, qos, retain=True)
    answers = client.take()
    if answers and isinstance(answers[0], Pubrec) and answers[0].reason_code < 0x80:
        client.send(Pubrel(2))
        harness.commit()
        answers += client.take()
    return answers


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("count", [False, True])
def test_a_5_0_publisher_is_refused_and_the_older_message_stays(
    tmp_path: Path, qos: int, count: bool
) -> None:
    harness = limited(tmp_path, 1) if count else limited(tmp_path)
    client, watch = connect(harness, "c"), connect(harness, "w")
    subscribe(harness, watch, Subscription("#", 0))
    retain(harness, client, "t", b"old", 1)
    topic, payload = ("more", b"new") if count else ("t", b"new" * 1_000)
    watch.take()
    assert retain(harness, client, topic, payload, qos) == [
        Puback(1, 0x97) if qos == 1 else Pubrec(2, 0x97)
    ]
    assert payloads(watch.take()) == [], "refused as a whole"
    assert retained(harness) == {"t": b"old"}
    assert harness.broker.statistics.errors == {
        "max_retained" if count else "max_retained_bytes": 1
    }
    harness.cut()
    assert retained(harness) == {"t": b"old"}
    harness.close()


@pytest.mark.statement("MQTT-3.3.1-5", "MQTT-3.3.1-7", "MQTT5-3.3.1-5")
@pytest.mark.parametrize(("version", "qos"), [(4, 0), (4, 1), (4, 2), (5, 0)])
def test_what_cannot_be_refused_is_delivered_and_counted_and_takes_the_older_message_with_it(
    tmp_path: Path, version: int, qos: int
) -> None:
    harness = limited(tmp_path)
    client = harness.connect("c", version=version)
    watch = connect(harness, "w")
    subscribe(harness, watch, Subscription("#", 0))
    retain(harness, client, "t", b"old", 1)
    retain(harness, client, "other", b"old", 1)
    watch.take()
    retain(harness, client, "t", b"new" * 1_000, qos)
    assert payloads(watch.take()) == [b"new" * 1_000]
    assert retained(harness) == {"other": b"old"}
    assert harness.broker.statistics.errors == {"max_retained_bytes": 1}
    assert any("max_retained_bytes" in text for text, _ in harness.broker.statistics.notices)
    harness.cut()
    assert retained(harness) == {"other": b"old"}
    harness.close()


@pytest.mark.parametrize("count", [False, True])
def test_at_qos_2_the_place_is_taken_with_pubrec_and_nobody_else_gets_it_before_pubrel(
    tmp_path: Path, count: bool
) -> None:
    harness = limited(tmp_path, 1) if count else limited(tmp_path)
    client = connect(harness, "c")
    publish(harness, client, "t", b"held" * 150, 2, retain=True)
    assert client.take()[-1] == Pubrec(2, 0x10)
    harness.checkpoint()
    harness.cut()
    other = connect(harness, "other")
    assert retain(harness, other, "u", b"x" * 1_000, 1) == [Puback(1, 0x97)]
    old = harness.connect("old")
    retain(harness, old, "u", b"x" * 1_000, 1)
    assert retained(harness) == {}
    client = connect(harness, "c")
    client.send(Pubrel(2))
    harness.commit()
    assert client.take()[-1] == Pubcomp(2)
    assert retained(harness) == {"t": b"hel"}
    state = harness.broker.state
    assert (state.places_taken, state.places_taken_bytes) == (0, 0)
    harness.close()


@pytest.mark.parametrize("how", ["expired", "abandoned", "released"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_place_that_was_taken_is_free_again_when_the_message_is_gone(
    tmp_path: Path, how: str, cut: bool
) -> None:
    harness = limited(tmp_path)
    harness.limits.await_rel_timeout_seconds = 50.0 if how == "abandoned" else None
    client = connect(harness, "c", expiry=1_000 if how == "abandoned" else 10)
    publish(harness, client, "t", b"held" * 150, 2, retain=True)
    state = harness.broker.state
    assert state.places_taken == 1
    assert state.places_taken_bytes > harness.session("c").inbound_bytes
    if how == "released":
        client.send(Pubrel(2))
        harness.commit()
    else:
        harness.lose(client)
        harness.advance(100)
    if cut:
        harness.checkpoint()
        harness.cut()
        state = harness.broker.state
    assert (state.places_taken, state.places_taken_bytes) == (0, 0)
    assert ("t" in state.retained) is (how == "released")
    harness.close()


def test_a_retained_message_beyond_a_smaller_limit_may_become_smaller_and_be_removed(
    tmp_path: Path,
) -> None:
    harness = limited(tmp_path)
    client = connect(harness, "c")
    retain(harness, client, "t", b"old" * 100, 1)
    retain(harness, client, "u", b"old" * 100, 1)
    harness.limits.max_retained_bytes = 300
    assert retain(harness, client, "t", b"new" * 100, 1) == [Puback(1, 0x10)]
    assert retain(harness, client, "t", b"xyz" * 101, 1) == [Puback(1, 0x97)]
    assert retained(harness) == {"t": b"new", "u": b"old"}
    assert retain(harness, client, "u", b"", 1) == [Puback(1, 0x10)]
    assert retained(harness) == {"t": b"new"}
    harness.close()


def test_the_properties_of_a_message_count_when_it_is_refused(tmp_path: Path) -> None:
    harness = limited(tmp_path, size_bytes=1_500)
    client = connect(harness, "c")
    packet = Publish("t", b"x" * 1_000, 1, True, False, 1, properties(content_type="y" * 1_000))
    client.take()
    client.send(packet)
    harness.commit()
    assert client.take() == [Puback(1, 0x97)]
    harness.close()

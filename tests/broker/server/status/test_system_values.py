"""The values under `$SYS`, and what they are computed from."""

from pathlib import Path

from gateway.broker.server.status.system_values import ROOT, counts_of, values_of
from gateway.broker.server.status.totals import Walk
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness


def values(harness: Harness) -> dict[str, str]:
    broker = harness.broker
    walk = Walk(broker.state, 0.0)
    assert walk.advance()
    found = values_of(broker, "0.0", 61.9, walk.totals, {"sockets/1min": 1.0})
    return {topic.removeprefix(ROOT): text.decode() for topic, text in found.items()}


def test_a_message_counts_wherever_it_is_kept_with_its_topic_and_payload(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    size_bytes = len(b"\0\1t" + b"12345")
    harness.lose(harness.subscriber("away", "t", 1))
    harness.subscriber("here", "t", 1)
    publisher = harness.connect("publisher")
    publisher.send(Publish("t", b"12345", 1, True, False, 1))
    publisher.send(Publish("u", b"12345", 2, False, False, 2))
    harness.commit()
    found = values(harness)
    # One message is queued, one is in flight, one is retained, one waits for its PUBREL.
    assert found["messages/stored"] == found["store/messages/count"] == "4"
    assert found["store/messages/bytes"] == str(4 * size_bytes)
    harness.close()


def test_the_bytes_of_what_is_retained_go_with_it(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    publisher = harness.connect("publisher")
    for payload in (b"12345", b"1", b""):
        publisher.send(Publish("t", payload, 0, True, False, 0))
        harness.commit()
        expected = len(b"\0\1t" + payload) if payload else 0
        assert values(harness)["store/messages/bytes"] == str(expected)
    harness.close()


def test_what_is_retained_has_its_bytes_after_a_restart_too(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.connect("publisher").send(Publish("t", b"12345", 0, True, False, 0))
    harness.commit()
    harness.restart()
    assert values(harness)["store/messages/bytes"] == str(len(b"\0\1t12345"))
    harness.close()


def test_texts_and_averages_are_formatted_as_mosquitto_does(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    found = values(harness)
    assert found["version"] == "oncegate version 0.0"
    assert found["uptime"] == "61 seconds"
    assert found["load/sockets/1min"] == "1.00"
    harness.close()


def test_what_averages_are_made_of_only_grows(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    before = counts_of(harness.broker)
    harness.lose(harness.connect("c"))
    harness.commit()
    after = counts_of(harness.broker)
    assert all(after[name] >= before[name] for name in before)
    assert after["connections"] == after["sockets"] == 1
    harness.close()

"""Packets that must wait: in order, limited in memory, and dropped with their connection."""

import pytest

from gateway.broker.core.limits import DEFERRED_BYTES_MAX
from gateway.broker.core.rules.deliver import defer
from gateway.broker.core.rules.deliver.defer import PACKET_BYTES
from gateway.broker.wire.packets import Puback, Publish
from tests.broker.core.harness import Harness, payloads


@pytest.fixture
def full(harness: Harness) -> Harness:
    """Return a broker on a full disk, with a subscriber that is away."""
    harness.lose(harness.subscriber("s", "t", 1))
    harness.broker.set_disk_full(True)
    return harness


def publish(packet_id: int, payload: bytes = b"x") -> Publish:
    return Publish("t", payload, 1, False, False, packet_id)


def test_with_more_than_64_kib_of_memory_a_connection_is_not_read_any_more(full: Harness) -> None:
    publisher = full.connect("p", clean=True)
    count = DEFERRED_BYTES_MAX // (PACKET_BYTES + len(b"\0\1t") + 1)
    for packet_id in range(1, count + 1):
        publisher.send(publish(packet_id))
    assert not publisher.connection.deferred.is_full
    publisher.send(publish(count + 1))
    assert publisher.connection.deferred.is_full
    full.broker.set_disk_full(False)
    full.commit()
    assert not publisher.connection.deferred.is_full
    assert publisher.take()[1:] == [Puback(packet_id) for packet_id in range(1, count + 2)]


def test_what_came_behind_it_is_handled_behind_it(full: Harness) -> None:
    publisher = full.connect("p", clean=True)
    publisher.take()
    publisher.send(publish(1, b"1"), publish(2, b"2"))
    full.broker.set_disk_full(False)
    publisher.send(publish(3, b"3"))
    full.commit()
    assert publisher.take() == [Puback(1), Puback(2), Puback(3)]
    assert payloads(full.connect("s").take()) == [b"1", b"2", b"3"]


def test_clients_that_give_up_and_come_back_leave_nothing_behind(
    full: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defer, "DEFERRED_CONNECTIONS_MAX", 20)
    full.broker.core.deferred_open_count = 20
    for attempt in range(60):
        publisher = full.connect("p", clean=True)
        publisher.send(publish(1, bytes(DEFERRED_BYTES_MAX)))
        assert publisher.connection.deferred.is_full, "it is not read from here"
        full.lose(publisher)
        assert publisher.connection.deferred.packets == []
        assert len(full.broker.core.deferred) <= 2 * 20 + 1, attempt
    full.broker.set_disk_full(False)
    full.commit()
    assert payloads(full.connect("s").take()) == []


def test_of_a_crowd_one_message_each_waits(full: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defer, "DEFERRED_CONNECTIONS_MAX", 3)
    crowd = [full.connect(f"p{number}", clean=True) for number in range(5)]
    for publisher in crowd:
        publisher.send(publish(1))
    is_full = [publisher.connection.deferred.is_full for publisher in crowd]
    assert is_full == [False, False, False, True, True]
    full.broker.set_disk_full(False)
    full.commit()
    assert [publisher.take()[-1] for publisher in crowd] == 5 * [Puback(1)]

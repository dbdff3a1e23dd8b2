"""Clients that connect and disconnect again and again are detected."""

import pytest

from gateway.broker.core import flapping as module
from gateway.broker.core.flapping import Flapping
from gateway.broker.core.records.kinds import CloseReason
from tests.broker.core.harness import Harness


def test_a_client_is_found_when_it_left_once_too_often_within_the_window() -> None:
    flapping = Flapping()
    flapping.count_max = 3
    for second in range(3):
        flapping.disconnected("c", "192.0.2.7:1", float(second))
    assert flapping.take() == {}
    flapping.disconnected("c", "192.0.2.7:4", 60.0)
    assert flapping.take() == {"c": "192.0.2.7:4"}
    assert flapping.take() == {}


def test_after_the_window_counting_begins_again() -> None:
    flapping = Flapping()
    flapping.count_max = 2
    for now in (0.0, 30.0, 61.0, 90.0):
        flapping.disconnected("c", "a", now)
    assert flapping.take() == {}


def test_clients_that_are_counted_are_bounded_and_the_oldest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CLIENTS_MAX", 10)
    monkeypatch.setattr(module, "FOUND_MAX", 5)
    flapping = Flapping()
    flapping.count_max = 1
    flapping.disconnected("first", "a", 0.0)
    for number in range(100):
        flapping.disconnected(f"c{number}", "a", 1.0)
        assert len(flapping._windows) <= 10
    flapping.disconnected("first", "a", 2.0)
    assert flapping.take() == {}
    for number in range(91, 100):
        flapping.disconnected(f"c{number}", "a", 3.0)
    assert len(flapping.take()) == 5


@pytest.mark.parametrize("reason", [CloseReason.SHUTDOWN, CloseReason.KICKED])
def test_ends_that_are_the_gateways_doing_do_not_count(
    harness: Harness, reason: CloseReason
) -> None:
    flapping = harness.broker.bans.flapping
    flapping.enabled, flapping.count_max = True, 2
    for _ in range(5):
        client = harness.connect("c")
        harness.broker.connection_lost(client.connection, reason, harness.now)
    assert flapping.take() == {}
    for _ in range(3):
        harness.lose(harness.connect("c"))
    assert flapping.take() == {"c": "127.0.0.1:1"}


def test_a_takeover_counts_and_without_the_key_nothing_does(harness: Harness) -> None:
    flapping = harness.broker.bans.flapping
    flapping.count_max = 2
    for _ in range(5):
        harness.connect("c")
    assert flapping.take() == {}
    flapping.enabled = True
    for _ in range(5):
        harness.connect("c")
    assert flapping.take() == {"c": "127.0.0.1:1"}

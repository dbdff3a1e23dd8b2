"""Cached access decisions: used for the same PUBLISH, limited in number, until the rules change."""

import pytest

from gateway.broker.core import permissions as permissions_module
from gateway.broker.core.permissions import Client
from gateway.broker.core.records.events import decode
from gateway.broker.wire.packets import (
    Pubrel,
)
from tests.broker.core.harness import Harness
from tests.broker.core.permitting import (
    Rules,
    answered,
    errors,
    message,
)


def test_clients_that_are_remembered_are_bounded(
    harness: Harness, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions_module, "CLIENTS_MAX", 3)
    for number in range(10):
        client = harness.connect(f"c{number}")
        answered(harness, client, message(0))
        assert len(harness.broker.core.permissions._clients) <= 3


def test_a_session_that_ended_is_not_remembered(harness: Harness, rules: Rules) -> None:
    client = harness.connect("c", clean=True)
    answered(harness, client, message(0))
    assert len(harness.broker.core.permissions._clients) == 1
    harness.lose(client)
    assert harness.broker.core.permissions._clients == {}


class Counting(Rules):
    """Rules that record each check of a PUBLISH."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[tuple[str, int, bool]] = []

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        self.questions.append((client.client_id, qos, retain))
        return super().may_publish(client, topic, qos, retain) and qos < 2


def test_the_same_publish_is_asked_about_once_until_rules_change(harness: Harness) -> None:
    rules = Counting()
    harness.broker.restrict(rules)
    first, second = harness.connect("a"), harness.connect("b")
    for _ in range(3):
        answered(harness, first, message(0), message(1), message(1, retain=True))
        answered(harness, second, message(2))
    assert rules.questions == [("a", 0, False), ("a", 1, False), ("a", 1, True), ("b", 2, False)]
    assert errors(harness) == {"publish_not_authorized": 3}
    harness.broker.restrict(rules)
    answered(harness, first, message(0))
    assert len(rules.questions) == 5
    answered(harness, first, message(0, "other"))
    assert len(rules.questions) == 6


def test_answers_that_are_kept_are_bounded(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions_module, "ANSWERS_BYTES_MAX", 3_000)
    rules = Counting()
    harness.broker.restrict(rules)
    client = harness.connect("a")
    for number in range(100):
        answered(harness, client, message(0, f"t{number}"))
        clients = harness.broker.core.permissions._clients.values()
        assert sum(len(each.answers) for each in clients) <= 20
    assert len(rules.questions) == 100


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_log_states_which_persistent_session_may_not_have_a_message(
    harness: Harness, rules: Rules, qos: int
) -> None:
    for name, clean in (("refused", False), ("clean", True), ("other", False)):
        harness.subscriber(name, "#", 2, clean=clean)
    rules.receive |= {("refused", "t"), ("clean", "t")}
    publisher = harness.connect("publisher", version=5, clean=True)
    answered(harness, publisher, message(qos), *([Pubrel(1)] if qos == 2 else []))
    events = [event for blob in harness.blobs for event in decode(blob).events]
    dropped = [
        (event["client_id"], event["reason"])
        for event in events
        if event["event"] == "message_dropped"
    ]
    assert dropped == ([("refused", "refused")] if qos else [])
    matched = [event["matched"] for event in events if "matched" in event]
    assert matched == ([2] if qos else [])
    assert errors(harness) == {"receive_not_authorized": 2}

"""Pages of queued messages that arrive when the session has moved on."""

from pathlib import Path

import pytest

from gateway.core import effects
from gateway.core.effects import PageRequest
from gateway.core.limits import Limits
from gateway.wire.packets import Connect, Publish
from tests.core.harness import Harness, payloads


def load(harness: Harness, request: PageRequest) -> None:
    contents, deliveries, _ = harness.store.load_page(
        request.session, request.first_position, request.count, request.contents
    )
    harness.broker.page_loaded(request, contents, deliveries, harness.now)


def test_pages_asked_for_by_connections_that_are_gone_resend_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "QUEUE_PAGE_MESSAGES", 2)
    limits = Limits()
    limits.max_inflight = 2
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    for number in range(1, 9):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number))
    harness.commit()
    harness.lose(subscriber)
    harness.commit()
    harness.checkpoint()
    harness.cut()
    limits.max_inflight = 6
    requests: list[PageRequest] = []
    clients = []
    for _ in range(3):
        client = harness.open_connection()
        client.send(Connect(4, "s", False, 0, None, None, None))
        clients.append(client)
        requests += harness.broker.effects.take_pages()
    while requests:
        request = requests.pop(0)
        load(harness, request)
        requests += harness.broker.effects.take_pages()
    harness.commit()
    assert payloads(clients[-1].take()) == [b"%d" % number for number in range(1, 7)]
    assert payloads(clients[0].take()) == []
    harness.close()

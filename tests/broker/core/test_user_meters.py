"""Message rates that all clients of one user share."""

import pytest

from gateway.broker.core import user_meters
from gateway.broker.core.sessions.meter import BURST_SECONDS
from gateway.broker.wire.packets import Pingreq
from tests.broker.core.harness import Client, Harness
from tests.broker.core.owned import limit, log_in

RATE = 5
BURST = int(RATE * BURST_SECONDS)


def owed_seconds(client: Client) -> float:
    """Return the seconds for which the client will not be read from."""
    (meter,) = client.connection.meters
    return max(0.0, meter.free_at - client.harness.now)


def test_many_connections_of_a_user_have_no_more_than_one(harness: Harness) -> None:
    limit(harness, "ann", packet_rate=RATE)
    clients = [log_in(harness, "ann", f"c{number}") for number in range(5)]
    ben = log_in(harness, "ben", "b")
    assert ben.connection.meters == ()
    for client in clients:
        client.send(*[Pingreq()] * (BURST // 5))
    assert owed_seconds(clients[0]) == 0.0
    clients[0].send(*[Pingreq()] * RATE)
    clients[1].send(*[Pingreq()] * RATE)
    assert [owed_seconds(client) for client in clients] == [2.0] * 5


def test_who_comes_back_gets_no_new_burst(harness: Harness) -> None:
    limit(harness, "ann", packet_rate=RATE)
    first = log_in(harness, "ann", "a", clean=True)
    first.send(*[Pingreq()] * (BURST + 2 * RATE))
    harness.lose(first)
    again = log_in(harness, "ann", "a", clean=True)
    assert owed_seconds(again) == 2.0


def test_other_rates_begin_another_meter_and_none_end_it(harness: Harness) -> None:
    limit(harness, "ann", packet_rate=RATE)
    first = log_in(harness, "ann", "a")
    first.send(*[Pingreq()] * (BURST + RATE))
    limit(harness, "ann", packet_rate=RATE, byte_rate=1_000)
    second = log_in(harness, "ann", "b")
    assert (owed_seconds(first), owed_seconds(second)) == (1.0, 0.0)
    limit(harness, "ann")
    assert log_in(harness, "ann", "c").connection.meters == ()


def test_of_too_many_users_the_one_that_connected_the_longest_ago_is_forgotten(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_meters, "USERS_MAX", 2)
    for name in ("ann", "ben", "cid"):
        limit(harness, name, packet_rate=RATE)
    for name in ("ann", "ben", "cid"):
        log_in(harness, name, name).send(*[Pingreq()] * (BURST + RATE))
    assert owed_seconds(log_in(harness, "ben", "ben again")) == 1.0
    assert owed_seconds(log_in(harness, "ann", "ann again")) == 0.0

"""Limits that all clients of one listener, or of one address, share."""

from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.sessions.share import LOGIN_BURST_SECONDS, Share
from gateway.broker.wire.packets import Connack, Connect, Pingreq
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import NEVER, properties
from tests.broker.core.owned import limit


def at(harness: Harness, listener: Share | None, address: Share | None = None) -> Client:
    connection = harness.broker.accept("192.0.2.7:1", True, harness.now, listener)
    if address is not None:
        connection.set_address_share(address, harness.now)
    client = Client(harness, connection, 5)
    harness.clients[connection] = client
    return client


def connect(client: Client, client_id: str, *, clean: bool = False) -> int:
    expiry = properties(session_expiry_interval_seconds=0 if clean else NEVER)
    client.send(Connect(5, client_id, clean, 0, None, None, None, expiry))
    client.harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    return connack.reason_code


def test_sessions_count_until_they_end_whether_connected_or_not(harness: Harness) -> None:
    share = Share()
    share.sessions_max = 2
    first = at(harness, share)
    assert connect(first, "a") == 0
    harness.lose(first)
    second = at(harness, share)
    assert connect(second, "b", clean=True) == 0
    assert connect(at(harness, share), "c") == 0x97
    assert harness.broker.statistics.errors == {"listener_sessions": 1}
    assert connect(at(harness, share), "a") == 0, "a session that exists comes back"
    harness.lose(second)
    assert share.sessions == 1
    assert connect(at(harness, share), "c") == 0


def test_a_session_counts_where_its_client_came_in_last(harness: Harness) -> None:
    one, other, address = Share(), Share(), Share()
    assert connect(at(harness, one, address), "a") == 0
    assert connect(at(harness, other, address), "a") == 0
    assert (one.sessions, other.sessions, address.sessions) == (0, 1, 1)
    harness.broker.drop_session(harness.broker.state.sessions["a"], harness.now)
    assert (one.sessions, other.sessions, address.sessions) == (0, 0, 0)
    assert address.is_idle(harness.now)


def test_logins_beyond_the_rate_of_a_listener_are_refused_until_it_has_caught_up(
    harness: Harness,
) -> None:
    share = Share()
    share.login_rate = 1
    for number in range(int(LOGIN_BURST_SECONDS)):
        assert share.has_login_left(harness.now)
        assert connect(at(harness, share), f"c{number}", clean=True) == 0
    assert not share.has_login_left(harness.now)
    assert connect(at(harness, share), "more", clean=True) == 0x9F
    assert harness.broker.statistics.errors == {"listener_login_rate": 1}
    assert connect(at(harness, None), "elsewhere") == 0
    harness.advance(1.0)
    assert connect(at(harness, share), "more", clean=True) == 0


def test_all_clients_of_an_address_are_one_meter_beside_their_own(harness: Harness) -> None:
    listener, address = Share(), Share(prefix="max_", suffix="_per_address")
    listener.client_packet_rate, address.packet_rate = 1_000, 10
    clients = [at(harness, listener, address) for _ in range(2)]
    for number, client in enumerate(clients):
        assert connect(client, f"c{number}") == 0
        client.send(*[Pingreq()] * 59)
    (own, together), (own_of_other, same) = (each.connection.meters for each in clients)
    assert own is not own_of_other
    assert together is same
    assert own.free_at == harness.now
    assert (together.free_at, together.limit) == (
        harness.now + 2.0,
        "max_packet_rate_per_address",
    )
    assert not address.is_idle(harness.now)
    assert address.sessions_max == NO_LIMIT


def test_the_rates_of_a_user_take_the_place_of_the_clients_and_of_no_others(
    harness: Harness,
) -> None:
    listener = Share()
    listener.client_byte_rate = listener.byte_rate = 500
    limit(harness, "", packet_rate=7)
    client = at(harness, listener)
    assert connect(client, "c") == 0
    limits = [(each.packet_rate, each.byte_rate) for each in client.connection.meters]
    assert limits == [(0, 500), (7, 0)]
    limit(harness, "", journal_bytes_per_day=10_000)
    other = at(harness, listener)
    assert connect(other, "d") == 0
    assert len(other.connection.meters) == 3

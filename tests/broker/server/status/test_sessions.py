"""Sessions as the control socket shows them."""

from pathlib import Path

from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.server.status.sessions import LISTED_MAX, session_detail_of, session_of
from tests.broker.server.broker import log_in
from tests.broker.server.conftest import Start
from tests.broker.server.listeners.tls_site import Site
from tests.peers.mqtt_bytes import Kind, packet


async def test_a_session_shows_its_connection_and_when_its_client_was_last_seen(
    start: Start, tmp_path: Path
) -> None:
    site = Site(tmp_path / "ca")
    broker = await start({"name": "plant", "tls": site.tls()}, {})
    event_loop = broker.running.event_loop
    plant, plain = await broker.open(tls=site.client()), await broker.open(1)
    for client, name in ((plant, "plant"), (plain, "plain")):
        assert await client.log_in(name, clean=False) == 0
    sessions = event_loop.broker.state.sessions
    shown = session_of(sessions["plant"], event_loop)
    assert (shown["listener"], shown["tls"], shown["username"]) == ("plant", True, None)
    assert session_of(sessions["plain"], event_loop)["tls"] is False
    now_ms = event_loop.wall_clock.time_ms()
    assert now_ms - 60_000 < shown["connected_since_ms"] <= now_ms
    assert shown["connected_since_ms"] <= shown["last_seen_ms"] + 1 <= now_ms + 1
    plant.send(packet(Kind.DISCONNECT, 0, b""))
    await broker.eventually(lambda: sessions["plant"].connection is None)
    shown = session_of(sessions["plant"], event_loop)
    assert (shown["connected"], shown["address"], shown["connected_since_ms"]) == (
        False,
        None,
        None,
    )
    assert (shown["tls"], shown["keep_alive_seconds"]) == (None, 0)
    assert abs(event_loop.wall_clock.time_ms() - shown["last_seen_ms"]) < 60_000


async def test_of_a_session_s_subscriptions_and_deliveries_a_bounded_number_is_listed(
    start: Start,
) -> None:
    broker = await start({})
    await log_in(broker, "other")
    event_loop = broker.running.event_loop
    state, session = event_loop.broker.state, Session(7, "c", False)
    state.session_opened(session)
    for number in range(1, LISTED_MAX + 2):
        state.subscribed(session, Subscription(f"t/{number}", 1, 0))
        message = Message(number, "t", b"\0\1t", b"x", 1, False)
        delivery = Delivery(session, message, number, 1, number)
        state.delivery_started(delivery, number)
    detail = session_detail_of(session, event_loop)
    assert len(detail["subscriptions"]) == len(detail["inflight"]) == LISTED_MAX
    assert detail["subscription_count"] == LISTED_MAX + 1
    assert (detail["username"], detail["denials"], detail["last_seen_ms"]) == (None, 0, None)
    assert detail["subscriptions"][0] == {"filter": "t/1", "qos": 1}
    assert detail["inflight"][0] == {
        "packet_id": 1,
        "message": 1,
        "qos": 1,
        "state": "awaiting_acknowledgement",
    }

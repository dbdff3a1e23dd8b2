"""Sessions as the control socket shows them."""

import asyncio

from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.state import State
from gateway.broker.server.host.clock import WallClock
from gateway.broker.server.status.sessions import LISTED_MAX, session_detail_of, session_of
from gateway.broker.wire.decoder import Decoder


async def test_a_session_whose_client_is_away_has_no_address_and_no_keep_alive() -> None:
    shown = session_of(Session(7, "c", True), WallClock())
    assert (shown["client_id"], shown["session"], shown["clean"]) == ("c", 7, False)
    assert (shown["connected"], shown["address"], shown["connected_since_ms"]) == (
        False,
        None,
        None,
    )
    assert shown["keep_alive_seconds"] == 0


async def test_a_connection_s_begin_is_shown_in_wall_time_as_it_is_known_now() -> None:
    loop, wall_clock = asyncio.get_running_loop(), WallClock()
    connection = Connection("192.0.2.7:1", Decoder(1_000), anonymous=True, now=loop.time())
    connection.connected_at = loop.time() - 60
    session = Session(1, "c", False)
    session.connection = connection
    shown = session_of(session, wall_clock)
    assert shown["address"] == "192.0.2.7:1"
    assert abs(wall_clock.time_ms() - 60_000 - shown["connected_since_ms"]) < 10_000


async def test_of_a_session_s_subscriptions_and_deliveries_a_bounded_number_is_listed() -> None:
    state, session = State([]), Session(1, "c", True)
    state.session_opened(session)
    for number in range(1, LISTED_MAX + 2):
        state.subscribed(session, Subscription(f"t/{number}", 1, 0))
        message = Message(number, "t", b"\0\1t", b"x", 1, False)
        delivery = Delivery(session, message, number, 1, number)
        state.delivery_started(delivery, number)
    detail = session_detail_of(session, WallClock())
    assert len(detail["subscriptions"]) == len(detail["inflight"]) == LISTED_MAX
    assert detail["subscription_count"] == LISTED_MAX + 1
    assert (detail["username"], detail["denials"]) == (None, 0)
    assert detail["subscriptions"][0] == {"filter": "t/1", "qos": 1}
    assert detail["inflight"][0] == {
        "packet_id": 1,
        "message": 1,
        "qos": 1,
        "state": "awaiting_acknowledgement",
    }

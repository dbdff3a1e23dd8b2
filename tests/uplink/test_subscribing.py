"""Changes from the existing to the wanted subscriptions.

The effect on a link is tested in test_link.py.
"""

import asyncio

import pytest

from gateway.broker.wire.packets import Suback, Unsuback
from gateway.process.mqtt_client.client import SessionClient
from gateway.uplink.subscribing import SubscriptionSync


async def test_nothing_is_asked_where_nothing_differs() -> None:
    subscribing = SubscriptionSync(SessionClient("c"), 5, asyncio.Event(), "remote")
    assert await subscribing.apply_changes({"a": 1}, {"a": 1}) == {"a": 1}


async def test_another_qos_is_asked_for_and_what_is_gone_is_left_out() -> None:
    subscribing = SubscriptionSync(SessionClient("c"), 5, asyncio.Event(), "remote")
    subscribing.receive(Unsuback(1, [0]))
    subscribing.receive(Suback(1, [2, 0x80]))
    have, wanted = {"a": 1, "b": 1, "gone": 2}, {"a": 1, "b": 2, "c": 2}
    assert await subscribing.apply_changes(wanted, have) == {"a": 1, "b": 2}


async def test_a_connection_that_ends_ends_the_wait() -> None:
    lost = asyncio.Event()
    lost.set()
    subscribing = SubscriptionSync(SessionClient("c"), 5, lost, "remote")
    with pytest.raises(ConnectionResetError, match="before SUBACK"):
        await subscribing.apply_changes({"a": 1}, {})


async def test_an_answer_that_is_none_is_refused() -> None:
    subscribing = SubscriptionSync(SessionClient("c"), 5, asyncio.Event(), "remote")
    subscribing.receive(Suback(1, [2, 2]))
    with pytest.raises(ConnectionError, match="something else"):
        await subscribing.apply_changes({"a": 1}, {})

"""Timers run after all received bytes were read, and a standstill of the loop is detected."""

import asyncio
import time

import pytest

from gateway.broker.server.event_loop.alarm import STANDSTILL_SECONDS
from tests.broker.server.broker import protocols_of
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import Kind

PINGREQ = b"\xc0\x00"


async def test_a_ping_that_arrived_while_the_loop_was_busy_counts(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    client = await broker.open()
    await client.connect("pinging", keep_alive_seconds=1)
    client.send(PINGREQ)
    await asyncio.sleep(0)
    time.sleep(1.8)  # noqa: ASYNC251 - the standstill: longer than one and a half keep-alives
    await client.expect(Kind.PINGRESP)
    assert "keep_alive" not in broker.errors


async def test_after_a_standstill_each_client_has_its_keep_alive_again(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    broker = await start({"protocol": "mqtt"})
    client = await broker.open()
    await client.connect("silent", keep_alive_seconds=1)
    time.sleep(STANDSTILL_SECONDS + 0.5)  # noqa: ASYNC251 - the standstill
    connection = protocols_of(broker)["silent"].connection
    await broker.eventually(lambda: "the broker did not run" in caplog.text)
    assert connection.is_open
    assert await client.expect_closed() == []
    assert broker.errors["keep_alive"] == 1

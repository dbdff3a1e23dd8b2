"""Retained messages from upstream belong to the uplink's user, and that user's rights decide."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.wire.packets import Publish
from tests.peers.packet_client import PacketClient
from tests.system.broker_process import BrokerProcess
from tests.uplink.test_main import client_at, next_message, published, settings_of, uplink

EVERYTHING = "allow anonymous publish,subscribe #\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "access.rules"
    path.write_text(EVERYTHING)
    return path


@pytest.fixture
def brokers(rules: Path) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    pair = (BrokerProcess(f'[access]\nrules_file = "{rules}"'), BrokerProcess())
    try:
        for broker in pair:
            broker.start()
        yield pair
    finally:
        for broker in pair:
            broker.remove()


def change(broker: BrokerProcess, rules: Path, lines: str) -> None:
    rules.write_text(lines)
    broker.ask("reload")


async def retained(broker: BrokerProcess, topic: str, payload: bytes) -> None:
    client = await client_at(broker, "publisher")
    async with client:
        client.send(Publish(topic, payload, 1, True, False, 1))
        await client.receive()


async def seen(broker: BrokerProcess, topic_filter: str, end: str) -> list[bytes]:
    """Return the payloads that a new subscription receives before a message to `end`."""
    client: PacketClient = await client_at(broker, "reader", topic_filter)
    async with client:
        await published(broker, end, b"end", 0)
        found = []
        while (message := await next_message(client)).payload != b"end":
            found.append(message.payload)
        return found


async def test_a_retained_message_from_upstream_is_withheld_where_the_uplink_may_not_publish_it(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess], rules: Path
) -> None:
    local, upstream = brokers
    await retained(upstream, "site/in/a", b"down")
    settings = settings_of(tmp_path / "u", brokers)
    async with uplink(settings, local):
        below = await client_at(local, "below", "in/#")
        async with below:
            assert (await next_message(below)).payload == b"down"
        uplink_client = local.ask("reports")["uplink"]["status"]["local"]["session"]
        assert await seen(local, "in/#", "in/z") == [b"down"]
        change(local, rules, f"deny client {uplink_client} publish in/#\n{EVERYTHING}")
        assert await seen(local, "in/#", "in/z") == []
        change(local, rules, EVERYTHING)
        assert await seen(local, "in/#", "in/z") == [b"down"]


async def test_a_message_whose_publisher_lost_its_right_does_not_go_upstream(
    tmp_path: Path, brokers: tuple[BrokerProcess, BrokerProcess], rules: Path
) -> None:
    local, upstream = brokers
    await retained(local, "out/a", b"kept")
    change(local, rules, f"deny client publisher publish out/a\n{EVERYTHING}")
    above = await client_at(upstream, "above", "site/out/#")
    async with above, uplink(settings_of(tmp_path / "u", brokers), local):
        await published(local, "out/end", b"end", 1)
        assert (await next_message(above)).payload == b"end"

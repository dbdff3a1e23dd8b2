"""aiomqtt, the asyncio face of paho-mqtt."""

import asyncio

import aiomqtt
import pytest

from tests.system.stage import Stage

DEADLINE_SECONDS = 10.0


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_aiomqtt_publishes_and_receives_at_every_qos(stage: Stage, qos: int) -> None:
    payloads = [b"%d" % number for number in range(30)]
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        aiomqtt.Client("127.0.0.1", stage.broker.port, identifier=stage.client_id("a")) as client,
    ):
        await client.subscribe(stage.topic("x"), qos=qos)
        for payload in payloads:
            await client.publish(stage.topic("x"), payload, qos=qos)
        received = [await anext(client.messages) for _ in payloads]
    assert [each.payload for each in received] == payloads
    assert {each.qos for each in received} == {qos}


async def test_aiomqtt_gets_what_waited_in_its_persistent_session(stage: Stage) -> None:
    def client() -> aiomqtt.Client:
        return aiomqtt.Client(
            "127.0.0.1",
            stage.broker.port,
            identifier=stage.client_id("away"),
            clean_session=False,
        )

    async with asyncio.timeout(DEADLINE_SECONDS), client() as away:
        await away.subscribe(stage.topic("x"), qos=2)
    payloads = [b"%d" % number for number in range(20)]
    await stage.deliver(stage.topic("x"), *payloads)
    async with asyncio.timeout(DEADLINE_SECONDS), client() as away:
        assert [(await anext(away.messages)).payload for _ in payloads] == payloads


async def test_an_aiomqtt_will_is_retained_for_whoever_comes_later(stage: Stage) -> None:
    will = aiomqtt.Will(stage.topic("will"), b"gone", qos=1, retain=True)
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 1))
    client = aiomqtt.Client(
        "127.0.0.1", stage.broker.port, identifier=stage.client_id("a"), will=will
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        await client.__aenter__()
        # A second connection under the same name ends this one without a DISCONNECT.
        await stage.client("a")
        with pytest.raises(aiomqtt.MqttError):
            await anext(client.messages)
    assert (await watcher.take()).payload == b"gone"
    assert await stage.retained_of(stage.topic("will"), wanted=1) == [b"gone"]

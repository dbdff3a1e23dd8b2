"""Debian's mosquitto_pub, mosquitto_sub and mosquitto_rr, as people type them."""

import asyncio

from tests.contract.mqtt_client.mosquitto_commands import (
    run,
    subscriber,
)
from tests.system.stage import Stage


async def test_mosquitto_sub_and_another_client_take_over_from_each_other(stage: Stage) -> None:
    async with subscriber(stage, "-i", stage.client_id("same"), "-t", stage.topic("x")):
        raw = await stage.client("same")
        # mosquitto_sub reconnects by itself after a second, and so takes over from this client.
        assert await raw.expect_closed() == []


async def test_mosquitto_rr_gets_an_answer_from_a_client_of_3_1_1(stage: Stage) -> None:
    answering = await stage.client("answering")
    await answering.subscribe((stage.topic("question"), 1))
    arguments = ("-q", "1", "-t", stage.topic("question"), "-e", stage.topic("answer"))
    asking = asyncio.create_task(
        run(stage, "mosquitto_rr", "-V", "mqttv311", *arguments, "-m", "how warm?")
    )
    assert (await answering.take()).payload == b"how warm?"
    await answering.deliver(stage.topic("answer"), b"21.5", qos=1)
    assert await asking == b"21.5\n"

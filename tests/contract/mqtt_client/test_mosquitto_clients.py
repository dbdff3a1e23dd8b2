"""Debian's mosquitto_pub, mosquitto_sub and mosquitto_rr, as people type them."""

import asyncio
import signal

import pytest

from tests.contract.mqtt_client.mosquitto_commands import (
    lines_of,
    needs_mosquitto_clients,
    run,
    subscriber,
)
from tests.system.stage import Stage

pytestmark = needs_mosquitto_clients


@pytest.mark.parametrize("version", ["mqttv31", "mqttv311"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
async def test_mosquitto_sub_prints_what_mosquitto_pub_sends(
    stage: Stage, qos: str, version: str
) -> None:
    common = ("-V", version, "-q", qos)
    async with subscriber(stage, *common, "-t", stage.topic("#"), "-v") as reading:
        lines = "".join(f"reading {number}\n" for number in range(100))
        arguments = (*common, "-t", stage.topic("x"), "-l")
        await run(stage, "mosquitto_pub", *arguments, stdin=lines.encode())
        printed = await lines_of(reading, 100)
    assert printed == [f"{stage.topic('x')} reading {number}" for number in range(100)]


async def test_mosquitto_sub_gets_what_waited_in_its_persistent_session(stage: Stage) -> None:
    who = ("-i", stage.client_id("away"), "-c", "-q", "2", "-t", stage.topic("x"))
    await run(stage, "mosquitto_sub", *who, "-E")
    for number in range(5):
        message = ("-q", "2", "-t", stage.topic("x"), "-m", str(number))
        await run(stage, "mosquitto_pub", *message)
    printed = await run(stage, "mosquitto_sub", *who, "-C", "5")
    assert printed.split() == [b"0", b"1", b"2", b"3", b"4"]


async def test_mosquitto_pub_retains_and_clears(stage: Stage) -> None:
    topic = ("-t", stage.topic("x"))
    await run(stage, "mosquitto_pub", *topic, "-q", "1", "-r", "-m", "retained")
    printed = await run(stage, "mosquitto_sub", *topic, "-C", "1", "-F", "%r %p")
    assert printed == b"1 retained\n"
    await run(stage, "mosquitto_pub", *topic, "-q", "1", "-r", "-n")
    assert await stage.retained_of(stage.topic("x"), wanted=0) == []


async def test_the_will_of_a_killed_mosquitto_sub_is_published(stage: Stage) -> None:
    watcher = await stage.client("watcher")
    await watcher.subscribe((stage.topic("will"), 2))
    will = ("--will-topic", stage.topic("will"), "--will-payload", "gone", "--will-qos", "2")
    async with subscriber(stage, "-t", stage.topic("x"), *will) as mortal:
        mortal.send_signal(signal.SIGKILL)
        message = await watcher.take()
    assert (message.payload, message.qos) == (b"gone", 2)


async def test_mosquitto_sub_and_another_client_take_over_from_each_other(stage: Stage) -> None:
    async with subscriber(stage, "-i", stage.client_id("same"), "-t", stage.topic("x")):
        raw = await stage.client("same")
        # mosquitto_sub comes back by itself after a second, and takes over in its turn.
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

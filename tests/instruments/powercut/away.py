"""A subscriber that is away while messages are acknowledged, and returns after the damage."""

import asyncio
import time

from tests.peers.byte_client import ConnectionEnded
from tests.system.broker_process import STOP_DEADLINE_SECONDS, BrokerProcess
from tests.system.stage import Stage

MESSAGES_MAX = 2000
PAYLOAD_BYTES = 500
HELD_COUNT = 60
"""Messages queued for the subscriber: enough for some dozens of database pages."""


async def hold_messages(stage: Stage) -> None:
    """Subscribe and leave.

    Then publish messages until all are acknowledged, in bursts and singly.
    """
    subscriber = await stage.client("subscriber", clean=False)
    await subscriber.subscribe((stage.topic("a"), 2))
    await subscriber.disconnect()
    await stage.burst(
        stage.topic("a"), [_payload_of(number) for number in range(HELD_COUNT - 10)], qos=2
    )
    await stage.deliver(
        stage.topic("a"), *(_payload_of(number) for number in range(HELD_COUNT - 10, HELD_COUNT))
    )


def _payload_of(number: int) -> bytes:
    return b"%d" % number + b" " * PAYLOAD_BYTES


async def publish_while_it_lasts(stage: Stage, first: int = HELD_COUNT) -> int:
    """Publish from `first` on until the broker ends. Return the first unacknowledged number."""
    publisher = await stage.client("publisher")
    for number in range(first, MESSAGES_MAX):
        try:
            await publisher.deliver(stage.topic("a"), _payload_of(number), qos=2)
        except ConnectionEnded:
            return number
    raise AssertionError("the broker did not notice its disk")


async def numbers_kept(stage: Stage) -> list[int]:
    """Return the numbers that the returning subscriber receives, in order.

    It subscribes again, because damage may have removed the subscription, and the last message must
    arrive.
    """
    subscriber = await stage.client("subscriber", clean=False)
    await subscriber.subscribe((stage.topic("a"), 2))
    await stage.deliver(stage.topic("a"), b"end")
    return [int(payload.rstrip(b"\0")) for payload in await subscriber.take_payloads_until(b"end")]


async def exit_code_of(broker: BrokerProcess) -> int:
    """Wait until the broker has exited by itself. Return its exit code."""
    deadline = time.monotonic() + STOP_DEADLINE_SECONDS
    while broker.is_running:
        assert time.monotonic() < deadline, "the broker goes on"
        await asyncio.sleep(0.02)
    return broker.stop()

"""The subscriber to the readings from the serial line, and the checks of what it received."""

import asyncio
import json
import random
from collections import Counter
from typing import Any, NamedTuple

from tests.instruments.powercut.clients import Verdict
from tests.instruments.powercut.sensors import CHECK, NUMBER, Board, Talker, check_of
from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Received
from tests.peers.resuming_client import Progress, Subscriber

END_TOPIC = "sensors/the-end/number"
"""The topic of the last message. All readings come before it in the session's queue."""


ASK_SECONDS = 2.0


class Reading(NamedTuple):
    """One received payload."""

    device: str
    boot: int
    sequence: int
    quantity: str
    value: Any


class ReadingsSubscriber(Subscriber):
    """A subscriber that records every reading. Its session survives all cuts of both sides."""

    def __init__(self, port: int, source: random.Random, verdict: Verdict) -> None:
        super().__init__(port, "readings", source, Progress(), filters=(("sensors/#", 2),))
        self.readings: list[Reading] = []
        self._verdict = verdict
        self._has_ended = False
        self._asking: asyncio.Task[None] | None = None

    def is_finished(self) -> bool:
        return self._has_ended and not self._received_ids

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._stop_asking()

    async def resume(self, client: ByteClient) -> None:
        await super().resume(client)
        self._stop_asking()
        self._asking = asyncio.create_task(_ask_for_life(client))

    async def receive(self, client: ByteClient, packet: Received) -> None:
        if packet.kind is not Kind.PINGRESP:
            await super().receive(client, packet)

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def session_forgotten(self) -> None:
        self._verdict.forgotten += 1
        self._verdict.note(f"the session of {self.client_id} was forgotten")
        self.is_subscribed.clear()
        self._received_ids.clear()

    def _count(self, packet: Received) -> None:
        if packet.topic == END_TOPIC:
            self._has_ended = True
            return
        try:
            (record,) = json.loads(packet.payload)
            value = record.get("v", record.get("vs"))
            device, quantity = record["n"].split("/")
            assert packet.topic == f"sensors/{device}/{quantity}", packet
            assert device == record["device"], packet
            reading = Reading(device, record["boot"], record["sequence"], quantity, value)
        except (ValueError, KeyError) as error:
            self._verdict.torn += 1
            self._verdict.note(f"{packet.topic}: {packet.payload!r}: {error}")
            return
        self.readings.append(reading)


async def _ask_for_life(client: ByteClient) -> None:
    """Send PINGREQ regularly, because no readings arrive while the bridge has no power."""
    while True:
        await asyncio.sleep(ASK_SECONDS)  # The interval is in real time, like a keep-alive.
        await client.send_all(mqtt_bytes.PINGREQ)


def judge(boards: list[Board], talker: Talker, readings: list[Reading], verdict: Verdict) -> None:
    """Count lost, doubled, torn and misordered readings. Call this after everything has arrived."""
    _judge_doubles(readings, verdict)
    for board in boards:
        _judge_board(board, [each for each in readings if each.device == board.name], verdict)
    _judge_talker(talker, [each for each in readings if each.device == talker.name], verdict)
    names = {talker.name, *(board.name for board in boards)}
    _found(verdict, "torn", [each for each in readings if each.device not in names])


def _found(verdict: Verdict, what: str, readings: list[Reading]) -> None:
    setattr(verdict, what, getattr(verdict, what) + len(readings))
    if readings:
        verdict.note(f"{len(readings)} {what}, the first {readings[0]}")


def _judge_doubles(readings: list[Reading], verdict: Verdict) -> None:
    counts = Counter(each[:4] for each in readings)
    _found(verdict, "doubled", [Reading(*key, None) for key, n in counts.items() if n > 1])


def _judge_board(board: Board, readings: list[Reading], verdict: Verdict) -> None:
    verdict.acknowledged += len(board.accepted)
    wanted = {
        Reading(board.name, boot, sequence, quantity, value)
        for boot, sequence in board.sent
        for quantity, value in (
            (NUMBER, sequence),
            (CHECK, check_of(sequence, board.device, boot)),
        )
    }
    _found(verdict, "torn", [each for each in readings if each not in wanted])
    # A frame has two quantities, so both must have arrived, or none.
    frames = board.accepted | {(each.boot, each.sequence) for each in readings}
    owed = {each for each in wanted if each[1:3] in frames}
    _found(verdict, "lost", sorted(owed - set(readings)))
    if board.window == 1:
        _judge_order(readings, verdict)


def _judge_talker(talker: Talker, readings: list[Reading], verdict: Verdict) -> None:
    _judge_order(readings, verdict)
    values = {each[1:4]: each.value for each in readings}
    numbers = [each for each in readings if each.quantity == NUMBER]
    said = [each.value for each in numbers]
    _found(verdict, "disordered", numbers if said != sorted(set(said)) else [])
    _found(
        verdict,
        "torn",
        [
            each
            for each in numbers
            if not 1 <= each.value <= talker.sent
            or values.get((each.boot, each.sequence, CHECK)) != check_of(each.value)
        ],
    )
    # Lines are not acknowledged, but the accepted ones must be a beginning of those that were read.
    last = Counter[int]()
    for each in numbers:
        if each.sequence != last[each.boot] + 1:
            _found(verdict, "gaps", [each])
        last[each.boot] = each.sequence


def _judge_order(readings: list[Reading], verdict: Verdict) -> None:
    """Check that the readings of each quantity arrived in the order of their numbers."""
    before: dict[str, Reading] = {}
    for each in readings:
        previous = before.get(each.quantity)
        if previous is not None and each[1:3] < previous[1:3]:
            _found(verdict, "disordered", [each])
        before[each.quantity] = each

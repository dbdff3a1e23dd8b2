"""Logs of a fleet: readings that boards publish with QoS 2 and one subscriber receives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.contract.segments import Event, LogWriter, numbered, opened, payload_of

EVENTS_OF_A_READING: Final = 5
PUBLISHER, SUBSCRIBER = (1, "oncegate-bridge"), (2, "dashboard")


class Gateway:
    """A gateway whose log continues from segment to segment."""

    def __init__(self, number: int) -> None:
        self.log = LogWriter(f"gw-{number:04d}", store=f"{number:016x}")
        self._reading = 0
        self._begins = True

    def seal(self, events: int) -> tuple[str, bytes]:
        """Seal a segment of at least `events` events. Return its name and content."""
        lines = list(self._start())
        while len(lines) < events:
            lines += self._next_reading()
        made = self.log.seal(self._at_one_time(lines))
        self.log.segments.clear()
        return made.name, made.content

    def _at_one_time(self, lines: list[Event]) -> Iterator[Event]:
        """Start each delivery at the time of its release: gateways log both as one batch."""
        timed = numbered(lines, self.log.sequence, self.log.time_ms)
        yield timed[0]
        for before, event in pairwise(timed):
            is_start = event["event"] == "delivery_started"
            yield {**event, "time": before["time"]} if is_start else event

    def _start(self) -> Iterator[Event]:
        if self._begins:
            yield opened(*PUBLISHER)
            yield opened(*SUBSCRIBER)
            yield {**_of(SUBSCRIBER), "event": "subscribed", "filter": "sensors/#", "qos": 2}
        self._begins = False

    def _next_reading(self) -> Iterator[Event]:
        self._reading += 1
        number = self._reading
        board = f"board-{number % 20:08x}"
        value = 20 + number % 997 / 8
        time = self.log.time_ms / 1000 + number / 100
        payload = payload_of(value, device=board, sequence=number // 20 + 1, time=time)
        received = {"packet_id": number % 65535 + 1, "message": number}
        sent = {**_of(SUBSCRIBER), "packet_id": number % 65535 + 1, "message": number}
        topic = f"sensors/{board}/temperature"
        yield {
            **_of(PUBLISHER), "event": "message_held", **received, "topic": topic, "qos": 2,
            "retain": False, "payload_bytes": len(payload), "payload": payload,
        }  # fmt: skip
        yield {**_of(PUBLISHER), "event": "message_released", **received, "matched": 1}
        yield {"event": "delivery_started", **sent, "qos": 2, "position": number - 1}
        yield {"event": "delivery_received", **sent}
        yield {"event": "delivery_completed", **sent}


def _of(session: tuple[int, str]) -> Event:
    return {"session": session[0], "client_id": session[1]}


def land(landing: Path, gateways: list[Gateway], *, events: int, segment_events: int) -> int:
    """Land at least `events` events, spread evenly over the gateways. Return their number."""
    landing.mkdir(parents=True, exist_ok=True)
    landed = 0
    for gateway in gateways:
        share = events // len(gateways)
        first = gateway.log.sequence
        while gateway.log.sequence - first < share:
            left = share - (gateway.log.sequence - first)
            name, content = gateway.seal(min(segment_events, left))
            (landing / name).write_bytes(content)
        landed += gateway.log.sequence - first
    return landed

"""The log of one gateway in segments: boots, QoS 2 readings and their deliveries."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.audit_checks.events import (
    completed,
    opened,
    queued,
    received,
    released,
    started,
    subscribed,
)
from tests.contract.segments import TIME_MS, Segment, held, payload_of, sealed

Event = dict[str, Any]
HOUR_MS = 3_600_000
READINGS_PER_SEGMENT = 4


@dataclass(frozen=True)
class Reading:
    """A reading with the sequence number of its sensor."""

    device: str
    boot: int
    sequence: int
    value: float


@dataclass(frozen=True)
class Made:
    """A segment and its contents."""

    segment: Segment
    number: int
    boot: str
    first: int
    last: int
    readings: tuple[Reading, ...]
    messages: tuple[int, ...]
    began_ms: int
    ended_ms: int
    """True times of its first and last event."""
    held_ms: dict[int, int]
    """True times of messages whose recorded times are from an unsynchronised clock."""


@dataclass
class Life:
    """Writes a gateway's log, with times and values from `random`."""

    gateway: str
    random: random.Random
    store: str = ""
    boot: str = ""
    clock: str = "synchronised"
    time_ms: int = TIME_MS
    sequence: int = 1
    message: int = 1
    position: int = 0
    device_boot: int = 0
    device_sequence: int = 0
    previous_sha256: str | None = None
    behind_ms: int = 0
    """The true time minus the time that the gateway's clock shows."""
    made: list[Made] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = f"{self.random.getrandbits(64):016x}"

    @property
    def device(self) -> str:
        return f"sensor-{self.gateway}"

    def start(self, *, clock: str = "synchronised") -> list[Event]:
        """Boot the gateway and its sensor. Return the first events."""
        is_first = not self.boot
        self.boot = f"{self.random.getrandbits(64):016x}"
        self.clock = clock
        self.behind_ms = 0 if clock == "synchronised" else self.time_ms - 20_000
        self.device_boot += 1
        self.device_sequence = 0
        event = {"event": "broker_started", "version": "1.0.0", "previous_boot": None,
                 "recovery": "new" if is_first else "unclean"}  # fmt: skip
        sessions = [opened(1), opened(2), subscribed(2, "sensors/#")]
        return [one | {"time": self._tick()} for one in (event, *(sessions if is_first else []))]

    def set_clock(self) -> Event:
        """Set the clock to the true time from the next segment on.

        Return the event that records it.
        """
        step_ms = self.behind_ms
        self.clock, self.behind_ms = "synchronised", 0
        return {"event": "clock_stepped", "step_ms": step_ms, "time": self._tick()}

    def _tick(self) -> int:
        self.time_ms += 1
        return self.time_ms

    def readings(self, *, skip_one: bool) -> tuple[list[Event], list[Reading]]:
        """Return readings that were held, released and delivered to the subscriber.

        With `skip_one`, one of the sensor's frames never reaches the gateway.
        """
        events: list[Event] = []
        found = []
        for nth in range(READINGS_PER_SEGMENT):
            self.device_sequence += 2 if skip_one and nth == 1 else 1
            value = self.random.randrange(1_000) / 8
            reading = Reading(self.device, self.device_boot, self.device_sequence, value)
            events += self._delivered(reading)
            found.append(reading)
        return events, found

    def _delivered(self, reading: Reading) -> list[Event]:
        number, topic = self.message, f"sensors/{reading.device}/temperature"
        payload = payload_of(
            reading.value, device=reading.device, boot=reading.boot, sequence=reading.sequence
        )
        self.message += 1
        self.time_ms += self.random.randrange(200, 2_000)
        release_ms = self.time_ms + 10
        entry = {"time": release_ms}
        waits = self.random.random() < 0.3
        # Events that are committed together have one time.
        events = [
            dict(held(number, payload, topic=topic)) | {"packet_id": 1, "time": self.time_ms},
            released(number) | entry,
            *([queued(number, self.position) | entry] if waits else []),
            started(number, self.position) | (entry if not waits else {"time": release_ms + 20}),
            received(number) | {"time": release_ms + 30},
            completed(number) | {"time": release_ms + 40},
        ]
        self.position += 1
        self.time_ms = release_ms + 50
        return events

    def seal(
        self, events: list[Event], readings: list[Reading], *, last_line: bytes | None = None
    ) -> Made:
        """Seal a segment of `events`. `last_line` replaces the line of the last event."""
        lines: list[Event | bytes] = []
        held_ms, times = {}, []
        for number, event in enumerate(events, self.sequence):
            self.time_ms = event.get("time", self.time_ms + 1)
            if event["event"] == "message_held" and self.behind_ms:
                held_ms[event["message"]] = self.time_ms
            times.append(self.time_ms)
            written = {"time": self.time_ms - self.behind_ms}
            lines.append({"sequence": number} | event | written)
        if last_line is not None:
            lines[-1] = last_line
        segment = sealed(
            lines, first_sequence=self.sequence, gateway=self.gateway, boot=self.boot,
            store=self.store, segment=len(self.made) + 1, clock=self.clock,
            previous_sha256=self.previous_sha256,
        )  # fmt: skip
        messages = tuple(e["message"] for e in events if e["event"] == "message_held")
        last = self.sequence + len(lines) - 1
        made = Made(segment, len(self.made) + 1, self.boot, self.sequence, last, tuple(readings),
                    messages, times[0], times[-1], held_ms)  # fmt: skip
        self.sequence = last + 1
        self.previous_sha256 = segment.sha256
        self.made.append(made)
        return made

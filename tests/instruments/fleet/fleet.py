"""A fleet generated from a seed: the segments of each landing, and the truth that tables must show.

Each gateway has two of FAULTS. The truth is computed from the generated and the landed segments,
without the job's code.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract.segments import Segment, payload_of, published
from tests.instruments.fleet.life import HOUR_MS, Event, Life, Made, Reading

FAULTS = (
    "missing", "forged", "damaged", "no_clock", "healed", "lost_frame", "doubled", "malformed",
    "released_twice", "late",
)  # fmt: skip
STARTS, SEGMENTS_PER_START = 3, 3
Gap = tuple[str, int, int]


@dataclass
class Truth:
    """The expected contents of the tables when all segments have landed."""

    events: set[tuple[str, str, int]] = field(default_factory=set)
    """Gateway, boot and sequence number of each event."""
    readings: dict[tuple[str, str, int, int], float] = field(default_factory=dict)
    """Values of readings, by gateway, device, and the device's boot and sequence number."""
    messages: set[tuple[str, int]] = field(default_factory=set)
    """Gateway and number of each QoS 2 message that was received and released."""
    gaps: set[Gap] = field(default_factory=set)
    sensor_gaps: set[Gap] = field(default_factory=set)
    """Device, first and last missing number."""
    refused: Counter[tuple[str | None, str, str]] = field(default_factory=Counter)
    """Rows of `quarantine`: gateway (None if the file's name has none), kind and reason."""
    doubled: int = 0
    """Files with the bytes of another segment under a different name."""
    violating: set[str] = field(default_factory=set)
    offline_ms: dict[str, int] = field(default_factory=dict)
    held_ms: dict[tuple[str, int], int] = field(default_factory=dict)
    """True times at which messages were received while the clock was not synchronised."""


@dataclass
class Fleet:
    """The files of each landing: a path below the source, and the content."""

    landings: list[list[tuple[str, bytes]]]
    truth: Truth

    def land(self, number: int, source: Path) -> None:
        for path, content in self.landings[number]:
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)


def fleet_of(seed: int, *, gateways: int, landings: int = 3) -> Fleet:
    """Generate a fleet. The same arguments generate the same bytes."""
    made = Fleet([[] for _ in range(landings)], Truth())
    for number in range(gateways):
        chosen = {FAULTS[(2 * number + k) % len(FAULTS)] for k in range(2)}
        _Gateway(f"gw-{number:03d}", chosen, _random(seed, number), made).live()
    return made


def _random(seed: int, gateway: int) -> random.Random:
    return random.Random(f"{seed}-{gateway}")  # noqa: S311 - the same fleet in every run


class _Gateway:
    def __init__(self, name: str, faults: set[str], rng: random.Random, fleet: Fleet) -> None:
        self.name, self.faults, self.random = name, faults, rng
        self.fleet, self.truth = fleet, fleet.truth
        self.life = Life(name, rng, time_ms=_first_time(rng))
        self.malformed: set[int] = set()

    def live(self) -> None:
        for start in range(STARTS):
            self._start(start)
            self.life.time_ms += self.random.randrange(2, 30) * HOUR_MS
        self._land()

    # -- what happens

    def _start(self, start: int) -> None:
        life = self.life
        unset = "no_clock" in self.faults and start == 1
        events = life.start(clock="unsynchronised" if unset else "synchronised")
        for number in range(SEGMENTS_PER_START):
            if unset and number == 1:
                events = [life.set_clock()]
            is_lossy = "lost_frame" in self.faults and number == 1 and start == 0
            more, readings = life.readings(skip_one=is_lossy)
            events += more
            events += self._extra(start, number, readings)
            self._seal(start, number, events, readings)
            events = []

    def _extra(self, start: int, number: int, readings: list[Reading]) -> list[Event]:
        if (start, number) != (2, 1):
            return []
        found: list[Event] = []
        if "released_twice" in self.faults:
            message = self.life.message - 1
            found.append({"event": "message_released", "session": 1, "client_id": "client-1",
                          "packet_id": 1, "message": message, "matched": 0})  # fmt: skip
            self.truth.violating.add(self.name)
        if "forged" in self.faults:
            reading = readings[-1]
            forged = payload_of(-1.0, device=reading.device, boot=reading.boot, sequence=9_999)
            event = published(self.life.message, forged, topic="site/forged")
            found.append(dict(event) | {"client_id": "stranger", "matched": 0})
            self.life.message += 1
            self.truth.refused[self.name, "payload", "topic"] += 1
        return found

    def _seal(self, start: int, number: int, events: list[Event], readings: list[Reading]) -> None:
        bad_line = None
        if "malformed" in self.faults and (start, number) == (1, 2):
            events.append({"event": "clock_read", "detail": "synchronised"})
            bad_line = b'{"sequence":oops}\n'
            self.truth.refused[self.name, "line", "not_json"] += 1
        made = self.life.seal(events, readings, last_line=bad_line)
        if bad_line is not None:
            self.malformed.add(made.last)

    # -- what lands

    def _land(self) -> None:
        landings = self.fleet.landings
        segments = self.life.made
        lost = segments[4] if "missing" in self.faults else None
        damaged = segments[5] if "damaged" in self.faults else None
        healed = segments[6] if "healed" in self.faults else None
        copied, copied_at = segments[2], 0
        for made in segments:
            at = min(made.number * len(landings) // (len(segments) + 1), len(landings) - 1)
            if "late" in self.faults:
                at = self.random.randrange(len(landings))
            if made is lost:
                continue
            if made in (damaged, healed):
                self._put(0, made.segment.name, _flipped(made.segment))
                self.truth.refused[self.name, "segment", "damaged"] += 1
                at = len(landings) - 1
            if made is not damaged:
                self._put(at, made.segment.name, made.segment.content)
            if made is copied:
                copied_at = at
        if "doubled" in self.faults:
            self._double(copied.segment, copied_at)
        self._state([made for made in segments if made not in (lost, damaged)])

    def _double(self, segment: Segment, landing: int) -> None:
        """Land a segment a second time, and once under a wrong name."""
        self._put(len(self.fleet.landings) - 1, f"again/{segment.name}", segment.content)
        self._put(0, f"copy-of-{self.name}.jsonl.zst", segment.content)
        if landing == 0:
            self.truth.doubled += 1
        else:  # when this landed, its original was unknown
            self.truth.refused[None, "segment", "renamed"] += 1

    def _put(self, landing: int, path: str, content: bytes) -> None:
        self.fleet.landings[landing].append((path, content))

    def _state(self, landed: list[Made]) -> None:
        truth, name = self.truth, self.name
        last = 0
        for made in landed:
            numbers = [n for n in range(made.first, made.last + 1) if n not in self.malformed]
            truth.events |= {(name, made.boot, number) for number in numbers}
            truth.messages |= {(name, message) for message in made.messages}
            for reading in made.readings:
                key = (name, reading.device, reading.boot, reading.sequence)
                truth.readings[key] = reading.value
            if made.first > last + 1:
                truth.gaps.add((name, last + 1, made.first - 1))
            last = made.last
            truth.held_ms |= {(name, n): ms for n, ms in made.held_ms.items()}
        truth.offline_ms[name] = sum(_times_off(landed))
        truth.sensor_gaps |= set(_holes(self.life.device, landed))


def _first_time(rng: random.Random) -> int:
    return 1_763_700_000_000 + rng.randrange(24) * HOUR_MS


def _flipped(segment: Segment) -> bytes:
    content = bytearray(segment.content)
    content[len(content) // 2] ^= 0x10
    return bytes(content)


def _times_off(landed: list[Made]) -> Iterator[int]:
    """Yield the milliseconds between the last landed event of a boot and the first of the next."""
    for before, after in itertools.pairwise(landed):
        if before.boot != after.boot:
            yield after.began_ms - before.ended_ms


def _holes(device: str, landed: list[Made]) -> Iterator[Gap]:
    """Yield the missing numbers between landed ones, for each boot of a device."""
    readings = [reading for made in landed for reading in made.readings]
    for boot in {reading.boot for reading in readings}:
        numbers = sorted(reading.sequence for reading in readings if reading.boot == boot)
        for before, after in itertools.pairwise(numbers):
            if after > before + 1:
                yield device, before + 1, after - 1

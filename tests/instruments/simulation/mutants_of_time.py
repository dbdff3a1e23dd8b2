"""Mutants with mistakes in clocks: deadlines changed by a clock step, and times without power."""

from typing import Any

from gateway.broker.core.frames import Frames
from gateway.broker.core.gateway_time import ClockQuality, GatewayTime, Outage
from gateway.broker.core.records.batch import Batch
from gateway.broker.core.records.replay import Replay
from gateway.broker.core.sessions.message import Message
from gateway.broker.server.host.clock import WallClock
from tests.instruments.simulation.clocks import VirtualTime
from tests.instruments.simulation.mutant import one

STEPS = "the clock steps by years, to 1970 and a minute back while messages wait"
LATER = "the power is off, and how long is known later"
THRICE = "the power goes three times before a time server answers"
KNOWN_AT_START = "the power is off for a time that is known at the start"


def _wall_time(_: object) -> object:
    def advance(self: GatewayTime, now: float) -> None:
        self.time_ms = max(self.time_ms, VirtualTime.time_ns() // 1_000_000)

    return advance


def _wall_time_at_start(right: Any) -> object:
    def begin(self: GatewayTime, now: float, wall_ms: int, *arguments: int) -> None:
        self.time_ms = wall_ms
        right(self, now, wall_ms, *arguments)

    return begin


def _any_clock_is_trusted(right: Any) -> object:
    def sealed(self: GatewayTime, time_ms: int, wall_ms: int, _: int) -> None:
        right(self, time_ms, wall_ms, ClockQuality.SYNCHRONISED)

    return sealed


def _any_clock_is_trusted_at_start(right: Any) -> object:
    def begin(self: GatewayTime, now: float, wall_ms: int, _: int, next_message: int) -> None:
        right(self, now, wall_ms, ClockQuality.SYNCHRONISED, next_message)

    return begin


def _outage_counts_for_younger_messages(_: object) -> object:
    def remaining_ms(self: GatewayTime, message_number: int, expires_ms: int) -> int:
        return expires_ms - self.time_ms - sum(outage.length_ms for outage in self.outages)

    return remaining_ms


def _outage_counts_for_younger_sessions(_: object) -> object:
    def age_ms(self: GatewayTime, since_ms: int) -> int:
        return self.time_ms - since_ms + sum(outage.length_ms for outage in self.outages)

    return age_ms


def _outage_counts_again(right: Any) -> object:
    def add(self: GatewayTime, outage: Outage) -> None:
        for _ in range(3):
            right(self, outage)

    return add


def _nothing_switched_off(right: Any) -> object:
    def begin(self: GatewayTime, now: float, wall_ms: int, _: object, next_message: int) -> None:
        self.offset_ms = None
        right(self, now, wall_ms, ClockQuality.UNKNOWN, next_message)

    return begin


def _gateway_time_not_written(right: Any) -> object:
    def seal(self: Batch, wall_ms: int, quality: ClockQuality) -> object:
        before, self.time.time_ms = self.time.time_ms, wall_ms
        blob = right(self, wall_ms, quality)
        self.time.time_ms = before
        return blob

    return seal


def _time_not_taken_from_the_journal(_: object) -> object:
    return lambda self, blob: None


def _asked_once_a_second(_: object) -> object:
    return lambda self: (self.time_ms(), self.quality)


def _floor_forgotten(right: Any) -> object:
    def init(self: WallClock, floor_ms: int = 0, floor_clock: int = 0) -> None:
        right(self)

    return init


def _interval_begins_again(_: object) -> object:
    def expiry_seconds_of(self: Frames, message: Message) -> int:
        remaining_ms = self.time.remaining_ms(message.number, message.expires_ms)
        return (remaining_ms + 2_999) // 1000 if message.expires_ms else -1

    return expiry_seconds_of


MUTANTS_OF_TIME = (
    one("deadlines of wall time", GatewayTime, "advance", _wall_time, scenario=STEPS),
    one("each run begins at wall time", GatewayTime, "begin", _wall_time_at_start, scenario=THRICE),
    one("any clock is trusted", GatewayTime, "sealed", _any_clock_is_trusted, scenario=THRICE),
    one(
        "any clock is trusted at the start",
        GatewayTime,
        "begin",
        _any_clock_is_trusted_at_start,
        scenario=THRICE,
        begin=73,
    ),
    one(
        "an outage counts for younger messages",
        GatewayTime,
        "remaining_ms",
        _outage_counts_for_younger_messages,
        scenario=LATER,
    ),
    one(
        "an outage counts for younger sessions",
        GatewayTime,
        "age_ms",
        _outage_counts_for_younger_sessions,
        scenario=LATER,
    ),
    one("an outage counts again", GatewayTime, "_add", _outage_counts_again, scenario=LATER),
    one(
        "a time switched off never counts",
        GatewayTime,
        "begin",
        _nothing_switched_off,
        scenario=KNOWN_AT_START,
    ),
    one("wall time written as gateway time", Batch, "seal", _gateway_time_not_written),
    one(
        "gateway time not taken from the journal",
        Replay,
        "_set_time",
        _time_not_taken_from_the_journal,
    ),
    one(
        "a clock that was set is trusted until the kernel is asked",
        WallClock,
        "shown",
        _asked_once_a_second,
        scenario=THRICE,
    ),
    one("written time goes back at a start", WallClock, "__init__", _floor_forgotten),
    one("what is left of an interval grows", Frames, "expiry_seconds_of", _interval_begins_again),
)

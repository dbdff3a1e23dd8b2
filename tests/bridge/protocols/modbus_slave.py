"""A Modbus device in memory and the registers polled from it, without a line or a clock."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from firmware_bridge.protocols.frame import Damage, Frame, Outcome, Refused
from firmware_bridge.protocols.modbus_answer import Block, exception_of, read_answer
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_plan import Plan
from firmware_bridge.protocols.modbus_register import Register

INTERVAL = 2.0


@dataclass
class Slave:
    """A simulated device in which each register holds its own address.

    It refuses a request for more than `most` registers, for any register in `missing`, or across
    one of `borders`. With `cuts_short`, it returns fewer registers instead. It does not respond to
    a request for a register in `silent`.
    """

    missing: set[int] = field(default_factory=set)
    most: int = 125
    borders: tuple[int, ...] = ()
    code: int = 2
    cuts_short: bool = False
    silent: set[int] = field(default_factory=set)
    always: Outcome | None = None
    requests: list[tuple[int, int]] = field(default_factory=list)

    def answer(self, block: Block) -> Outcome:
        self.requests.append((block.first, block.count))
        asked = range(block.first, block.first + block.count)
        if self.always is not None:
            return self.always
        if self.silent & set(asked):
            return Damage("no_answer")
        crosses = any(asked[0] < each <= asked[-1] for each in self.borders)
        if self.cuts_short:
            given = asked[: self.most]
            gap = min(self.missing & set(given), default=given[-1] + 1)
            asked = range(asked[0], gap)
        elif self.missing & set(asked) or block.count > self.most or crosses:
            return Refused(exception_of(self.code))
        values = struct.pack(f">{len(asked)}H", *asked)
        return read_answer(bytes((block.function, len(values))) + values, block)


@dataclass
class Polled:
    """A plan and its simulated device.

    Each poll returns the names of the quantities that were read.
    """

    plan: Plan
    slave: Slave
    now: float = 0.0
    learnt: list[str] = field(default_factory=list)

    def poll(self) -> set[str]:
        self.slave.requests.clear()
        self.plan.begin_poll(self.now)
        read: set[str] = set()
        while (block := self.plan.next_block()) is not None:
            outcome = self.slave.answer(block)
            learnt = self.plan.end(block, outcome, self.now)
            self.learnt += [learnt] if learnt else []
            if isinstance(outcome, Frame):
                assert read.isdisjoint(outcome.quantities), "asked twice in a poll"
                read |= outcome.quantities.keys()
        self.now += INTERVAL
        return read

    def polls(self, seconds: float) -> Iterator[set[str]]:
        end = self.now + seconds
        while self.now < end:
            yield self.poll()

    @property
    def unread(self) -> set[str]:
        return {each.quantity for each in self.plan.unread()}


def names(*at: int) -> set[str]:
    return {f"r{each}" for each in at}


def polled(slave: Slave, at: range | list[int], form: Any = "u16", **keys: Any) -> Polled:
    registers = tuple(Register(name=f"r{each}", at=each, type=form) for each in at)
    device = Device(name="d", address=1, registers=registers, **keys)
    return Polled(Plan(device), slave)

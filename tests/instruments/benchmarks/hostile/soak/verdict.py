"""The result of the windows of a soak, and the check against its limits, as pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack
from tests.instruments.benchmarks.hostile.figures import (
    PERCENTILES,
    RATIO_MOST,
    Conservation,
    Percentiles,
    medians_of,
    ratios_of,
    worst_of,
)

LOG_LINES_A_SECOND_MOST: Final = 25.0
"""The broker writes up to 10 lines per second on misbehaving clients and one with the rest, as many
on denied requests, and some others (`gateway.broker.server.event_loop.notices`).
"""

GROWTH_BYTES_MOST: Final = 32 * 2**20
"""Largest growth of resident memory from the second calm window to the last.

The first attack fills caches, and Python's allocator keeps their memory.
"""
_LATE: Final = "The broker did not answer within"
"""Words of the status page's answer (503) if the broker has not answered in time."""

Figures = Mapping[str, Mapping[str, int | str | None]]
"""The figures of each attack, by its name."""


@dataclass
class Soak:
    """The measurements. Windows alternate; the first and the last are calm."""

    calm: list[Percentiles] = field(default_factory=list)
    attacked: list[Percentiles] = field(default_factory=list)
    calm_resident_bytes: list[int] = field(default_factory=list)
    attacked_processor: list[float] = field(default_factory=list)
    """Processors that all threads of the broker used in each attacked window: 1.0 is one core."""
    most_bytes: int = 0
    allowed_bytes: int = 0
    done: list[Figures] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    conservations: list[Conservation] = field(default_factory=list)
    logins_answered: int = 0
    logins_wrong: dict[str, int] = field(default_factory=dict)
    visits_answered: int = 0
    visits_wrong: dict[str, int] = field(default_factory=dict)
    log_lines: int = 0
    seconds: float = 0.0
    ended: str = ""
    """How the broker or the page ended, or empty if both run."""

    def ratios(self) -> Percentiles:
        """Return the ratios of the attacked windows' medians to the calm ones."""
        return ratios_of(medians_of(self.calm), medians_of(self.attacked))

    def noise(self) -> Percentiles:
        """Return the ratios of the even calm windows to the odd ones: the noise of the machine.

        The larger of each ratio and its inverse counts.
        """
        one, other = medians_of(self.calm[::2]), medians_of(self.calm[1::2])
        return {
            name: {
                each: max(figure / other[name][each], other[name][each] / figure)
                for each, figure in figures.items()
            }
            for name, figures in one.items()
        }

    def answered_by(self, attack: type[Attack]) -> dict[str, int]:
        """Return the counts of the limits that stopped an attack, by counter."""
        found = {name: self.counted.get(name, 0) for name in attack.counters}
        for figures in self.done:
            for name in attack.counters:
                found[name] += _number(figures[attack.__name__].get(name, 0))
        return {name: count for name, count in found.items() if count}

    def done_by(self, attack: type[Attack], name: str) -> int:
        """Return the sum of one of an attack's own figures."""
        return sum(_number(figures[attack.__name__].get(name, 0)) for figures in self.done)


def _number(value: int | str | None) -> int:
    return value if isinstance(value, int) else 0


def failures_of(soak: Soak, attacks: Sequence[type[Attack]], *, latency: bool) -> list[str]:
    """Return the limits that a soak exceeded, a few words each. The list is empty if none.

    With `latency` False, latencies do not count: in tests on a machine that does other work. The
    status page then may also answer 503, as it does if the broker has not answered in time.
    """
    failures = [soak.ended] if soak.ended else []
    if latency:
        for each in (f"p{percentile}" for percentile in PERCENTILES):
            name, ratio = worst_of(soak.ratios(), each)
            if ratio > RATIO_MOST:
                failures.append(f"{each} of {name}: {ratio:.1f} times calm")
    for who, kept in zip(("subscriber", "returning subscriber"), soak.conservations, strict=True):
        if kept.lost or kept.doubled or kept.connections_lost:
            failures.append(
                f"{who}: {kept.lost} lost, {kept.doubled} duplicated, "
                f"{kept.connections_lost} disconnected"
            )
    failures += [f"failed logins ({name}): {count}" for name, count in soak.logins_wrong.items()]
    wrong = {name: n for name, n in soak.visits_wrong.items() if latency or _LATE not in name}
    failures += [f"failed requests ({name}): {count}" for name, count in wrong.items()]
    if not soak.logins_answered or not soak.visits_answered:
        failures.append("no login or no page request succeeded")
    return failures + _of_memory(soak) + _of_log(soak) + _of_attacks(soak, attacks)


def _of_memory(soak: Soak) -> list[str]:
    failures = []
    if soak.most_bytes > soak.allowed_bytes:
        most, allowed = soak.most_bytes / 2**20, soak.allowed_bytes / 2**20
        failures.append(f"{most:,.0f} MiB of memory, {allowed:,.0f} allowed")
    settled = soak.calm_resident_bytes[1:]
    if settled and settled[-1] - settled[0] > GROWTH_BYTES_MOST:
        growth = (settled[-1] - settled[0]) / 2**20
        failures.append(f"memory grew by {growth:,.0f} MiB between calm windows")
    return failures


def _of_log(soak: Soak) -> list[str]:
    if soak.log_lines > LOG_LINES_A_SECOND_MOST * soak.seconds:
        return [f"{soak.log_lines:,} log lines in {soak.seconds:,.0f} s"]
    return []


def _of_attacks(soak: Soak, attacks: Sequence[type[Attack]]) -> list[str]:
    failures = []
    for attack in attacks:
        if not soak.done_by(attack, "connections"):
            failures.append(f"{attack.name}: opened no connection")
        elif attack.counters and not soak.answered_by(attack):
            failures.append(f"{attack.name}: not stopped by {' or '.join(attack.counters)}")
        failures += [
            f"{attack.name}: stopped early: {problem}"
            for problem in {figures[attack.__name__]["problem"] for figures in soak.done}
            if problem is not None
        ]
    return failures

"""The jobs of a campaign: seeds, and scenarios with power cuts before one or two moments.

A job is a small value that can be sent to another process. It yields outcomes.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gateway.broker.server.host.compiled import COMPILED
from tests.instruments.simulation.plan import Plan
from tests.instruments.simulation.random_plans import plan_of
from tests.instruments.simulation.runs import Outcome, run
from tests.instruments.simulation.scenarios import SCENARIOS


@dataclass(frozen=True)
class Seeds:
    """Runs of random plans, one for each seed."""

    first: int
    count: int

    def outcomes(self) -> Iterator[Outcome]:
        """Run each plan."""
        for seed in range(self.first, self.first + self.count):
            yield run(plan_of(seed))


@dataclass(frozen=True)
class SingleCuts:
    """Runs of a scenario, each with a power cut before another moment."""

    scenario: int
    first: int
    step: int

    def outcomes(self) -> Iterator[Outcome]:
        """Run the scenario without a cut to count its moments, and then with each cut."""
        plan = SCENARIOS[self.scenario]
        untouched = run(plan)
        yield untouched
        for moment in range(self.first, untouched.boundaries + 1, self.step):
            yield run(replace(plan, power_cuts=(moment,)))


@dataclass(frozen=True)
class PairsOfCuts:
    """Runs of a scenario with a power cut before one moment, and a second cut later."""

    scenario: int
    first_cut: int
    sample: int | None = None
    """The number of second cuts, sampled from all, or None for all."""

    def outcomes(self) -> Iterator[Outcome]:
        """Run the scenario with the first cut alone, and then with each second cut."""
        plan = SCENARIOS[self.scenario]
        first = run(replace(plan, power_cuts=(self.first_cut,)))
        yield first
        later: list[int] = list(range(self.first_cut + 1, first.boundaries + 1))
        if self.sample is not None and len(later) > self.sample:
            chance = random.Random(f"{plan.seed}/{self.first_cut}")  # noqa: S311 - repeatable
            later = sorted(chance.sample(later, self.sample))
        for moment in later:
            yield run(replace(plan, power_cuts=(self.first_cut, moment)))


Job = Seeds | SingleCuts | PairsOfCuts

BUILD = "compiled" if COMPILED else "plain Python"


def how_to_repeat(plan: Plan) -> str:
    """Return the command that repeats a plan of a campaign."""
    build = "--compiled " if COMPILED else ""
    if plan.seed.isdigit():
        arguments = f" ARGUMENTS={build.strip()}" if build else ""
        return f"make simulate SEEDS=1 FIRST={plan.seed}{arguments}"
    names = [scenario.seed for scenario in SCENARIOS]
    cuts = " ".join(map(str, plan.power_cuts))
    return f'make simulate ARGUMENTS="{build}--scenario {names.index(plan.seed)} --at {cuts}"'

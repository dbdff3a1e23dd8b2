"""Power cuts before moments of every scenario, and before pairs of moments.

`make test` tries a sample from all scenarios. `make simulate ARGUMENTS="--cuts --pairs"` tries
every moment and every pair. test_repeatable shows that a run is the same on both builds.
"""

import random

import pytest

from gateway.broker.server.host.compiled import COMPILED
from tests.instruments.simulation.campaigns import PairsOfCuts, SingleCuts
from tests.instruments.simulation.scenarios import SCENARIOS
from tests.instruments.simulation.test_random_runs import fail

FIRST_CUTS = 3 if COMPILED else 1
"""First cuts per scenario, each with four second cuts, of some ten thousand pairs."""

STEP = 4 if COMPILED else 24
"""The distance between cuts in moments. The first moment differs from scenario to scenario."""

NAMES = [scenario.seed for scenario in SCENARIOS]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)), ids=NAMES)
def test_a_power_cut_amid_a_scenario_costs_nothing(scenario: int) -> None:
    for outcome in SingleCuts(scenario, first=1 + scenario % STEP, step=STEP).outcomes():
        if outcome.violation is not None:
            fail(outcome)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)), ids=NAMES)
def test_a_second_power_cut_soon_after_the_first_costs_nothing(scenario: int) -> None:
    chance = random.Random(scenario)  # noqa: S311 - the same every time
    for _ in range(FIRST_CUTS):
        for outcome in PairsOfCuts(scenario, chance.randint(1, 70), sample=4).outcomes():
            if outcome.violation is not None:
                fail(outcome)

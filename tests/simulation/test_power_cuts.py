"""The power is cut before every moment of every scenario, and before pairs of moments."""

import random

import pytest

from gateway.server.compiled import COMPILED
from tests.simulation.campaigns import PairsOfCuts, SingleCuts
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.test_random_runs import fail

PAIRS_PER_SCENARIO = 20
"""Of some ten thousand: `make simulate ARGUMENTS=--pairs` tries all."""

STEP = 1 if COMPILED else 3
"""Before every moment on the compiled build, which is quick; before every third on the source."""

NAMES = [scenario.seed for scenario in SCENARIOS]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)), ids=NAMES)
def test_a_power_cut_before_any_moment_costs_nothing(scenario: int) -> None:
    for outcome in SingleCuts(scenario, first=1 + scenario % STEP, step=STEP).outcomes():
        if outcome.violation is not None:
            fail(outcome)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)), ids=NAMES)
def test_a_second_power_cut_soon_after_the_first_costs_nothing(scenario: int) -> None:
    chance = random.Random(scenario)  # noqa: S311 - the same every time
    for _ in range(PAIRS_PER_SCENARIO // 4):
        for outcome in PairsOfCuts(scenario, chance.randint(1, 70), sample=4).outcomes():
            if outcome.violation is not None:
                fail(outcome)

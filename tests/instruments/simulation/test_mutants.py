"""The simulation can fail: it catches every mutant, a broker with one mistake.

These tests need plain Python, because compiled functions cannot be replaced.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import pytest

from tests.instruments.simulation.campaigns import SingleCuts
from tests.instruments.simulation.mutant import Mutant
from tests.instruments.simulation.mutants import MUTANTS
from tests.instruments.simulation.mutants_of_5 import MUTANTS_OF_5
from tests.instruments.simulation.mutants_of_commits import MUTANTS_OF_COMMITS
from tests.instruments.simulation.mutants_of_queues import MUTANTS_OF_QUEUES
from tests.instruments.simulation.mutants_of_time import MUTANTS_OF_TIME
from tests.instruments.simulation.plan import ClientPlan, Plan, Publish, Subscribe
from tests.instruments.simulation.random_plans import plan_of
from tests.instruments.simulation.report import report_of
from tests.instruments.simulation.runs import Outcome, run
from tests.instruments.simulation.scenarios import SCENARIOS
from tests.instruments.simulation.shrinking import shrink

SEEDS_MAX = 300
"""Largest number of seeds: most mutants are caught within a few."""


def lives_of(mutant: Mutant) -> Iterator[Outcome]:
    if not mutant.scenario:
        seeds = chain(range(mutant.begin, SEEDS_MAX), range(mutant.begin))
        return (run(plan_of(seed)) for seed in seeds)
    scenario = [each.seed for each in SCENARIOS].index(mutant.scenario)
    firsts = {max(mutant.begin, 1), 1}
    return chain.from_iterable(
        SingleCuts(scenario, first, step=1).outcomes() for first in sorted(firsts, reverse=True)
    )


@pytest.mark.parametrize(
    "mutant",
    [*MUTANTS, *MUTANTS_OF_5, *MUTANTS_OF_COMMITS, *MUTANTS_OF_QUEUES, *MUTANTS_OF_TIME],
    ids=lambda mutant: mutant.name,
)
def test_a_broker_with_a_mistake_is_caught(mutant: Mutant) -> None:
    with mutant.living():
        caught = any(outcome.violation is not None for outcome in lives_of(mutant))
    assert caught, f"{mutant.scenario or f'{SEEDS_MAX} seeds'} did not notice"


def test_a_failing_run_is_made_small_and_reported() -> None:
    mutant = next(each for each in MUTANTS if each.name == "deliver a repeat")
    with mutant.living():
        failing = next(
            outcome
            for outcome in (run(plan_of(seed)) for seed in range(SEEDS_MAX))
            if outcome.violation is not None and outcome.violation.rule == "QoS 2 exactly once"
        )
        smallest = shrink(failing, runs_max=200)
        reported = run(smallest.plan, logs=True)
    assert len(smallest.plan.steps) <= len(failing.plan.steps) // 3
    report = report_of(reported, "make simulate")
    assert report.startswith("BROKEN: QoS 2 exactly once")
    assert "PUBLISH QoS 2" in report


def test_steps_that_make_no_sense_do_nothing() -> None:
    plan = Plan(
        "nobody",
        (ClientPlan("a"),),
        ((0.1, Publish("gone")), (0.2, Subscribe("a", "t/1", 1)), (0.3, Publish("a"))),
    )
    assert run(plan).violation is None
    assert run(replace(plan, steps=plan.steps[:1])).violation is None

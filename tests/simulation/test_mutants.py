"""The simulation can fail: it catches a broker with any of these mistakes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.plan import ClientPlan, Plan, Publish, Subscribe
from tests.simulation.random_plans import plan_of
from tests.simulation.report import report_of
from tests.simulation.runs import run
from tests.simulation.shrinking import shrink

ROOT = Path(__file__).resolve().parents[2]

SEEDS_MAX = 150
"""Most mutants live for a handful of seeds."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broker_with_a_mistake_is_caught(mutant: Mutant) -> None:
    with mutant.living():
        caught = any(run(plan_of(seed)).violation is not None for seed in range(SEEDS_MAX))
    assert caught, f"{SEEDS_MAX} seeds did not notice"


def test_a_failing_run_is_made_small_and_told() -> None:
    mutant = next(each for each in MUTANTS if each.name == "deliver a repeat")
    with mutant.living():
        failing = next(
            outcome
            for outcome in (run(plan_of(seed)) for seed in range(SEEDS_MAX))
            if outcome.violation is not None and outcome.violation.rule == "QoS 2 exactly once"
        )
        smallest = shrink(failing, runs_max=200)
        told = run(smallest.plan, tells=True)
    assert len(smallest.plan.steps) <= len(failing.plan.steps) // 3
    report = report_of(told, "make simulate")
    assert report.startswith("BROKEN: QoS 2 exactly once")
    assert "PUBLISH QoS 2" in report


def test_the_same_plan_is_the_same_run() -> None:
    plan = plan_of(12)
    first, second = run(plan, tells=True), run(plan, tells=True)
    assert first.story == second.story
    assert len(first.story) > 50


def test_a_run_does_not_depend_on_the_process_that_runs_it() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--scenario", "3", "--at", "40"]
    stories = {
        subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(stories) == 1
    assert b"power" in stories.pop()


def test_steps_that_make_no_sense_do_nothing() -> None:
    plan = Plan(
        "nobody",
        (ClientPlan("a"),),
        ((0.1, Publish("gone")), (0.2, Subscribe("a", "t/1", 1)), (0.3, Publish("a"))),
    )
    assert run(plan).violation is None
    assert run(replace(plan, steps=plan.steps[:1])).violation is None

"""The steps of a run: what it shows of them, and that one which fails stops no other chain."""

import pytest

from cloud_jobs.gold.steps import PHASES, Report, Steps, _complete
from tests.cloud_jobs.conftest import MadeGold


def test_each_step_of_a_run_is_shown_once(made_gold: MadeGold) -> None:
    audited, unaudited, _ = made_gold.shown
    assert texts_of(audited) == sorted(PHASES.values())
    assert audited[0] == f"step 1 of {len(PHASES)}: {PHASES['audit']}"
    assert texts_of(unaudited) == sorted(text for name, text in PHASES.items() if name != "audit")


def test_a_failure_ends_its_chain_and_no_other() -> None:
    done: list[str] = []

    def step(name: str) -> Steps:
        return {
            name: lambda: done.append(name),
            f"after {name}": lambda: done.append(f"after {name}"),
        }

    def fail() -> None:
        raise OSError("no space left")

    broken: Steps = {"first": fail, "second": lambda: done.append("second")}
    committed: list[str] = []
    with pytest.raises(OSError, match="no space left"):
        _complete([step("a"), broken, step("b")], Report(lambda _: None, committed.append))
    assert sorted(done) == sorted(committed) == ["a", "after a", "after b", "b"]


def texts_of(lines: list[str]) -> list[str]:
    """Return the texts of the shown steps, sorted. Their numbers are those from 1 to their count.

    Steps that begin in two threads at the same time may be shown in any order.
    """
    numbers = [line.partition(":")[0] for line in lines]
    assert sorted(numbers) == sorted(f"step {n} of {len(lines)}" for n in range(1, len(lines) + 1))
    return sorted(line.partition(": ")[2] for line in lines)

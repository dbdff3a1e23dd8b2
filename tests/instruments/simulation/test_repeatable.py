"""A plan gives the same run every time: in every process, on both builds, in one go or in two."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.instruments.simulation.done import Done
from tests.instruments.simulation.random_plans import plan_of
from tests.instruments.simulation.runs import run

ROOT = Path(__file__).resolve().parents[3]


def simulate(path: str, hash_seed: str, *arguments: str) -> list[str]:
    """Return the command's output without its first line, which names the build."""
    command = [sys.executable, "-P", "-m", "tests.instruments.simulation", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    outcome = subprocess.run(
        command, env=environment, check=True, capture_output=True, timeout=120, text=True
    )
    return outcome.stdout.splitlines()[1:]


def test_the_same_plan_is_the_same_run() -> None:
    plan = plan_of(12)
    first, second = run(plan, logs=True), run(plan, logs=True)
    assert first.story == second.story
    assert len(first.story) > 50


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scenario", "3", "15", "16", "--at", "40"),
        ("--tell", "--first", "700", "--seeds", "20"),
    ],
)
def test_a_run_depends_neither_on_the_process_nor_on_the_build(arguments: tuple[str, ...]) -> None:
    ours = simulate(os.environ.get("PYTHONPATH", str(ROOT)), "1", *arguments)
    source = simulate(str(ROOT), "2", *arguments)
    assert ours == source
    assert any("power" in line for line in ours)


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    file = tmp_path / "done.jsonl"
    arguments = ("--seeds", "60", "--done", str(file), "--processes", "1")
    whole = simulate(str(ROOT), "1", *arguments)
    jobs = file.read_text().splitlines(keepends=True)
    file.write_text("".join(jobs[:2]) + jobs[2][:-20])
    rest = simulate(str(ROOT), "1", *arguments)
    assert len(jobs) == 3
    assert any(line.startswith("60 runs") for line in whole)
    assert any(line.startswith(("10 runs", "25 runs")) for line in rest)
    assert Done.load(file, "plain Python").runs == 60
    assert Done.load(file, "compiled").runs == 0

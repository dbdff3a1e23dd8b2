"""`make simulate`: many seeds on all cores, and scenarios with the power cut at every moment."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.simulation.campaigns import Job, PairsOfCuts, Seeds, SingleCuts, how_to_repeat
from tests.simulation.clocks import virtual
from tests.simulation.plan import Plan
from tests.simulation.report import report_of
from tests.simulation.runs import Outcome, run
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.shrinking import shrink

SEEDS_PER_JOB = 25
STORIES_MAX = 3
"""Failures told at length: more are counted."""

Result = tuple[int, Counter[str], list[Plan]]


def work(job: Job) -> Result:
    """Run a job in a process of its own: how many runs, what happened in them, which failed."""
    runs, counts, failed = 0, Counter[str](), list[Plan]()
    with virtual():
        for outcome in job.outcomes():
            runs += 1
            counts.update(outcome.counts)
            if outcome.violation is not None:
                failed.append(outcome.plan)
    return runs, counts, failed


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """Return what was asked for."""
    jobs: list[Job] = []
    end = arguments.first + arguments.seeds
    for first in range(arguments.first, end, SEEDS_PER_JOB):
        jobs.append(Seeds(first, min(SEEDS_PER_JOB, end - first)))
    for index, scenario in enumerate(SCENARIOS):
        if arguments.cuts or arguments.pairs:
            with virtual():
                boundaries = run(scenario).boundaries
        if arguments.cuts:
            jobs += [SingleCuts(index, first, 4) for first in range(1, 5)]
        if arguments.pairs:
            jobs += [PairsOfCuts(index, first) for first in range(1, boundaries)]
    return jobs


def perform(jobs: list[Job], console: Console) -> Result:
    """Do all jobs on all cores, and show how far that is."""
    runs, counts, failed = 0, Counter[str](), list[Plan]()
    began = time.monotonic()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with (
        Progress(*columns, console=console) as progress,
        ProcessPoolExecutor(os.cpu_count()) as pool,
    ):
        task = progress.add_task("jobs", total=len(jobs))
        for done in as_completed([pool.submit(work, job) for job in jobs]):
            more_runs, more_counts, more_failed = done.result()
            runs += more_runs
            counts.update(more_counts)
            failed += more_failed
            rate = runs / (time.monotonic() - began)
            description = f"{runs} runs, {rate:.0f}/s, {len(failed)} failed"
            progress.update(task, advance=1, description=description)
    return runs, counts, failed


def summary_of(counts: Counter[str]) -> Table:
    """Return what happened in all runs together."""
    table = Table("What happened", "times", title="Coverage")
    for what, count in sorted(counts.items(), key=lambda item: item[0].casefold()):
        table.add_row(what, f"{count:,}")
    return table


def tell(plans: Iterable[Plan], console: Console) -> None:
    """Make failing runs small and tell their stories."""
    with virtual():
        for plan in plans:
            smallest = shrink(run(plan))
            told = run(smallest.plan, tells=True)
            console.print(
                report_of(told, how_to_repeat(plan)), markup=False, highlight=False, soft_wrap=True
            )
            console.print()


def one_of(arguments: argparse.Namespace) -> Outcome:
    """Run one scenario with given power cuts."""
    plan = replace(SCENARIOS[arguments.scenario], power_cuts=tuple(arguments.at))
    with virtual():
        return run(plan, tells=True)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser("make simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cuts", action="store_true", help="cut every scenario at every moment")
    parser.add_argument("--pairs", action="store_true", help="and at every pair of moments")
    parser.add_argument("--scenario", type=int, help="tell one scenario, with power cuts --at")
    parser.add_argument("--at", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    console = Console()
    if arguments.scenario is not None:
        outcome = one_of(arguments)
        lines = _lines_of(outcome)
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        return 1 if outcome.violation is not None else 0
    runs, counts, failed = perform(jobs_of(arguments), console)
    console.print(summary_of(counts))
    tell(failed[:STORIES_MAX], console)
    verdict = "all held" if not failed else f"{len(failed)} FAILED"
    console.print(f"{runs:,} runs: {verdict}")
    for plan in failed[STORIES_MAX : STORIES_MAX + 20]:
        console.print(f"  {how_to_repeat(plan)}", markup=False)
    return 1 if failed else 0


def _lines_of(outcome: Outcome) -> Iterator[str]:
    if outcome.violation is None:
        yield from outcome.story
        yield f"all held; {outcome.boundaries} moments"
    else:
        yield report_of(outcome, how_to_repeat(outcome.plan))


if __name__ == "__main__":
    sys.exit(main())

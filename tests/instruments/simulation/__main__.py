"""`make simulate`: many seeds on all cores, and scenarios with a power cut at every moment."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gateway.broker.server.host.compiled import COMPILED
from tests.instruments.simulation.campaigns import (
    BUILD,
    Job,
    PairsOfCuts,
    Seeds,
    SingleCuts,
    how_to_repeat,
)
from tests.instruments.simulation.clocks import virtual
from tests.instruments.simulation.done import Done
from tests.instruments.simulation.plan import Plan
from tests.instruments.simulation.random_plans import plan_of
from tests.instruments.simulation.report import report_of
from tests.instruments.simulation.runs import Outcome, run
from tests.instruments.simulation.scenarios import SCENARIOS
from tests.instruments.simulation.shrinking import shrink

SEEDS_PER_JOB = 25
STORIES_MAX = 3
"""Failures that are described in full, at most: others are only counted."""

Result = tuple[int, Counter[str], list[Plan]]


def work(job: Job) -> Result:
    """Run a job in a separate process.

    Return the number of runs, the counts of events, and failures.
    """
    runs, counts, failed = 0, Counter[str](), list[Plan]()
    with virtual():
        for outcome in job.outcomes():
            runs += 1
            counts.update(outcome.counts)
            if outcome.violation is not None:
                failed.append(outcome.plan)
    return runs, counts, failed


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """Return the requested jobs."""
    jobs: list[Job] = []
    end = arguments.first + arguments.seeds
    for first in range(arguments.first, end, SEEDS_PER_JOB):
        jobs.append(Seeds(first, min(SEEDS_PER_JOB, end - first)))
    for index in arguments.scenario or range(len(SCENARIOS)):
        if arguments.cuts:
            jobs += [SingleCuts(index, first, 4) for first in range(1, 5)]
        if arguments.pairs:
            with virtual():
                boundaries = run(SCENARIOS[index]).boundaries
            jobs += [PairsOfCuts(index, first) for first in range(1, boundaries)]
    return jobs


def perform(jobs: list[Job], done: Done | None, processes: int, console: Console) -> Result:
    """Run all jobs on all cores, and show the progress."""
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
        ProcessPoolExecutor(processes) as pool,
    ):
        task = progress.add_task("jobs", total=len(jobs))
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            more_runs, more_counts, more_failed = future.result()
            if done is not None:
                done.add(futures[future], more_runs, [how_to_repeat(plan) for plan in more_failed])
            runs += more_runs
            counts.update(more_counts)
            failed += more_failed
            rate = runs / (time.monotonic() - began)
            description = f"{runs} runs, {rate:.0f}/s, {len(failed)} failed"
            progress.update(task, advance=1, description=description)
    return runs, counts, failed


def summary_of(counts: Counter[str]) -> Table:
    """Return the counts of events in all runs together."""
    table = Table("What happened", "times", title="Coverage")
    for what, count in sorted(counts.items(), key=lambda item: item[0].casefold()):
        table.add_row(what, f"{count:,}")
    return table


def tell(plans: Iterable[Plan], console: Console) -> None:
    """Reduce failing runs, and print their stories."""
    with virtual():
        for plan in plans:
            smallest = shrink(run(plan))
            reported = run(smallest.plan, logs=True)
            console.print(
                report_of(reported, how_to_repeat(plan)),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            console.print()


def tell_stories(arguments: argparse.Namespace, console: Console) -> int:
    """Run single seeds, or scenarios with given power cuts. Return the exit code."""
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    plans = [plan_of(seed) for seed in seeds]
    if arguments.scenario is not None:
        cuts = tuple(arguments.at)
        plans = [replace(SCENARIOS[index], power_cuts=cuts) for index in arguments.scenario]
    broken = False
    for plan in plans:
        with virtual():
            outcome = run(plan, logs=True)
        broken = broken or outcome.violation is not None
        lines = _lines_of(outcome)
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    return 1 if broken else 0


def options() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser("make simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cuts", action="store_true", help="cut every scenario at every moment")
    parser.add_argument("--pairs", action="store_true", help="and at every pair of moments")
    parser.add_argument(
        "--scenario",
        type=int,
        nargs="+",
        choices=range(len(SCENARIOS)),
        metavar="NUMBER",
        help=f"these of 0 to {len(SCENARIOS) - 1} only; without --cuts and --pairs: tell their "
        "stories, with power cuts --at",
    )
    parser.add_argument("--tell", action="store_true", help="tell the story of every seed")
    parser.add_argument("--at", type=int, nargs="*", default=[], metavar="MOMENT")
    parser.add_argument("--compiled", action="store_true", help="on the compiled build")
    parser.add_argument(
        "--done",
        type=Path,
        metavar="FILE",
        help="pass over the jobs that this file lists as finished, and write there which are",
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="COUNT")
    return parser


def main() -> int:
    """Run the jobs that the command line requests."""
    parser = options()
    arguments = parser.parse_args()
    if arguments.compiled and not COMPILED:
        parser.error("--compiled, but gateway.broker.core is plain Python: run make simulate")
    console = Console()
    console.print(f"gateway.broker.core: {BUILD}")
    reports_scenarios = arguments.scenario is not None and not (arguments.cuts or arguments.pairs)
    if arguments.tell or reports_scenarios:
        return tell_stories(arguments, console)
    jobs, done = jobs_of(arguments), None
    if arguments.done is not None:
        done = Done.load(arguments.done, BUILD)
        jobs = [job for job in jobs if repr(job) not in done.jobs]
    runs, counts, failed = perform(jobs, done, arguments.processes, console)
    console.print(summary_of(counts))
    tell(failed[:STORIES_MAX], console)
    verdict = "all held" if not failed else f"{len(failed)} FAILED"
    console.print(f"{runs:,} runs, {BUILD}: {verdict}")
    for plan in failed[STORIES_MAX : STORIES_MAX + 20]:
        console.print(f"  {how_to_repeat(plan)}", markup=False)
    if done is None:
        return 1 if failed else 0
    console.print(
        f"{done.path}: {len(done.jobs):,} jobs, {done.runs:,} runs, {len(done.failed)} failed"
    )
    return 1 if done.failed else 0


def _lines_of(outcome: Outcome) -> Iterator[str]:
    if outcome.violation is None:
        yield from outcome.story
        yield f"all held; {outcome.boundaries} moments"
    else:
        yield report_of(outcome, how_to_repeat(outcome.plan))


if __name__ == "__main__":
    sys.exit(main())

"""`make kill` kills the broker with SIGKILL thousands of times under load, with a progress bar and
counts.

make kill KILLS=2000                          the broker of this checkout
make kill SEED=4711                           the random numbers of an earlier run
make kill ARGUMENTS=--compiled                the compiled build
"""

import asyncio
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.system.killing import Campaign

console = Console()


def main(
    kills: Annotated[int, typer.Option(min=1, help="How many SIGKILLs.")] = 2000,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
    compiled: Annotated[bool, typer.Option(help="Say that this is the compiled build.")] = False,
) -> None:
    """Kill the broker repeatedly under load with QoS 0 retained, QoS 1 and QoS 2, and count what
    was lost."""
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    build = "compiled" if compiled else "plain Python"
    console.print(f"{kills} kills of the broker, {build}, seed {chosen}")
    campaign = Campaign(chosen)
    is_over = False
    try:
        asyncio.run(_run(campaign, kills))
        console.print(f"session log: {campaign.log_agrees()}")
        is_over = True
    finally:
        _summarise(campaign)
        if is_over and campaign.is_whole():
            campaign.broker.remove()
        else:
            campaign.broker.cool_down()
            console.print(f"evidence: {campaign.broker.directory}")
            console.print(f"again: make kill KILLS={kills} SEED={chosen}")
    raise typer.Exit(0 if campaign.is_whole() else 1)


async def _run(campaign: Campaign, kills: int) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("kills", total=kills)

        def report() -> None:
            wrong = sum(campaign.counts[what] for what in campaign.BROKEN)
            rate = campaign.kills * 60 / (time.monotonic() - began)
            reported = f"{rate:.0f} kills a minute, {wrong} lost, doubled or forgotten"
            progress.update(bar, completed=campaign.kills, description=reported)

        await campaign.run(kills, report)


def _summarise(campaign: Campaign) -> None:
    table = Table(title=f"{campaign.kills} kills", show_header=False)
    if campaign.seconds:
        table.add_row("kills a minute", f"{campaign.kills * 60 / campaign.seconds:.0f}")
    table.add_row("messages published", f"{campaign.progress.published}")
    table.add_row("messages taken", f"{sum(campaign.progress.taken.values())}")
    for what, count in sorted(campaign.counts.items()):
        table.add_row(what, f"{count}")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)

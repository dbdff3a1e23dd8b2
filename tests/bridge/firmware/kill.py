"""`make kill-board` kills bridge, broker and a simulated Uno with SIGKILL and counts the effects.

make kill-board KILLS=100       100 kills of each of the three
make kill-board SEED=4711       the random numbers of an earlier run
"""

import asyncio
import time
from typing import Annotated

import typer
from rich.console import Console

from tests.bridge.firmware.killing import Campaign

console = Console(soft_wrap=True)
REPORT_EVERY = 30


def main(
    kills: Annotated[int, typer.Option(min=1, help="How many SIGKILLs of each.")] = 100,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
) -> None:
    """Kill bridge, broker and board the given number of times, and print what was counted."""
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    console.print(f"{kills} kills of each, seed {chosen}")
    campaign = Campaign(chosen)
    is_whole = False

    def report() -> None:
        if campaign.kills.total() % REPORT_EVERY == 0:
            console.print(f"kills {dict(campaign.kills)}")

    try:
        asyncio.run(campaign.run(kills, report))
        is_whole = campaign.account.is_whole()
    finally:
        console.print(campaign.size.strip())
        console.print(campaign.summary())
        if is_whole:
            campaign.remove()
        else:
            campaign.stop()
            console.print(f"evidence: {campaign.directory}")
            console.print(f"again: make kill-board KILLS={kills} SEED={chosen}")
    raise typer.Exit(0 if is_whole else 1)


if __name__ == "__main__":
    typer.run(main)

"""`make fill`: fill the disk of the whole gateway and empty it again, with progress.

make fill FILLS=10       needs root: a tmpfs is mounted
make fill SEED=4711      the random choices of an earlier run
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.instruments.filling.campaign import DISK_BYTES, FillCampaign
from tests.small_disk import CannotMount, mounted_disk

console = Console()


def main(
    fills: Annotated[int, typer.Option(help="How often the disk is filled.")] = 10,
    seed: Annotated[int | None, typer.Option(help="The dice of an earlier run.")] = None,
) -> None:
    """Fill the disk, empty it, and count the lost messages."""
    chosen = int(time.time()) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="oncegate-fill-") as name:
        directory = Path(name)
        try:
            with mounted_disk(directory / "d", DISK_BYTES) as disk:
                campaign = FillCampaign(disk, directory, chosen)
                try:
                    asyncio.run(_run(campaign, fills))
                finally:
                    campaign.remove()
                    _summarise(campaign)
        except CannotMount as reason:
            console.print(f"[red]{reason}[/red]")
            raise typer.Exit(2) from None
    raise typer.Exit(0 if campaign.verdict.is_clean() else 1)


async def _run(campaign: FillCampaign, fill_count: int) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("fills", total=fill_count)

        def report() -> None:
            last = campaign.fills[-1]
            how = "in one step" if last.immediately else "block by block"
            reported = f"filled {how}, taken up again after {last.resumed_seconds:.1f} s"
            progress.update(bar, advance=1, description=reported)

        await campaign.run(fill_count, report)


def _summarise(campaign: FillCampaign) -> None:
    if not campaign.fills:
        return
    verdict = campaign.verdict
    table = Table(title=f"{len(campaign.fills)} fillings of the disk", show_header=False)
    table.add_row("acknowledged", f"{verdict.acknowledged} messages and frames")
    refused = sum(each.refused for each in campaign.publishers)
    table.add_row("refused with quota exceeded", str(refused))
    slowest = max(each.resumed_seconds for each in campaign.fills)
    table.add_row("taken up again after", f"{slowest:.1f} s at the latest")
    removed = ", ".join(f"{count} {kind}" for kind, count in campaign.fills[-1].removed.items())
    table.add_row("files removed for want of room", removed or "none")
    for name in ("lost", "doubled", "disordered", "torn", "forgotten"):
        count = getattr(verdict, name)
        table.add_row(name, str(count), style="red" if count else "green")
    console.print(table)
    for note in verdict.notes:
        console.print(note, markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)

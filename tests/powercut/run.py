"""`make powercut`: hundreds of power cuts under load, with progress and a summary for a person.

make powercut CUTS=500                        Oncegate, on a disk that keeps what was fsynced
make powercut SEED=4711                       the dice of an earlier run
make powercut ARGUMENTS="--disk lying"        how it looks when fsync is a lie
make powercut ARGUMENTS="--peer mosquitto"    the same cuts for Debian's Mosquitto
"""

import asyncio
import enum
import signal
import time
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.powercut.aftermath import examine
from tests.powercut.campaign import AtAFault, Campaign, workplace
from tests.powercut.clients import WatchfulSubscriber
from tests.powercut.mounted_disk import MountedDisk, new_directory, why_not
from tests.powercut.subjects import Mosquitto, Oncegate

console = Console()

NOTES_SHOWN = 6


class DiskKind(enum.StrEnum):
    """How the disk takes an fsync."""

    HONEST = "honest"
    LYING = "lying"


class Peer(enum.StrEnum):
    """Whose power is cut."""

    ONCEGATE = "oncegate"
    MOSQUITTO = "mosquitto"


def main(
    cuts: Annotated[int, typer.Option(min=1, help="How many power cuts.")] = 100,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
    disk: Annotated[DiskKind, typer.Option(help="How the disk takes an fsync.")] = DiskKind.HONEST,
    peer: Annotated[Peer, typer.Option(help="Whose power is cut.")] = Peer.ONCEGATE,
) -> None:
    """Cut the power of a broker under QoS 1 and 2 load, again and again, and count."""
    reason = why_not()
    if reason is not None:
        console.print(f"cannot mount the disk: {reason}")
        raise typer.Exit(2)
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    # Kept where something was lost: it holds the disks of the last cuts.
    directory = new_directory()
    mounted = MountedDisk(directory)
    subject: Oncegate | Mosquitto
    if peer is Peer.ONCEGATE:
        subject = Oncegate(workplace(directory))
    else:
        subject = Mosquitto(workplace(directory), directory)
    # Anything wrong ends the run of what must be right; of the others everything is counted.
    must_hold = peer is Peer.ONCEGATE and disk is DiskKind.HONEST
    campaign = Campaign(
        mounted,
        subject,
        chosen,
        cuts,
        is_lying=disk is DiskKind.LYING,
        at_a_fault=AtAFault.FAIL if must_hold else AtAFault.GO_ON,
    )
    console.print(f"{cuts} power cuts for {peer} on an {disk} disk, seed {chosen}")
    # Whoever ends the run with SIGTERM wants it ended as with Ctrl-C: nothing is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    is_broken = False
    try:
        asyncio.run(_run(campaign, subject if must_hold else None))
    except* AssertionError as group:
        is_broken = True
        for failure in _failures_in(group):
            console.print(f"[red]broken:[/red] {escape(str(failure))}")
    finally:
        is_evidence = is_broken or (must_hold and not campaign.verdict.is_clean())
        (directory / "broker.log").write_text(subject.log())
        subject.remove()
        mounted.remove()
        _summarise(campaign)
        if is_evidence:
            console.print(f"evidence: {directory}")
            console.print(f"again: make powercut CUTS={cuts} SEED={chosen}")
        else:
            mounted.forget()
    raise typer.Exit(1 if is_evidence else 0)


def _failures_in(group: BaseExceptionGroup[AssertionError]) -> Iterator[AssertionError]:
    for failure in group.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _failures_in(failure)
        else:
            yield failure


async def _run(campaign: Campaign, oncegate: Oncegate | Mosquitto | None) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("cuts", total=campaign.cut_count)

        def report() -> None:
            verdict = campaign.verdict
            progress.update(
                bar,
                advance=1,
                description=f"{verdict.acknowledged} acknowledged, {verdict.doubled} doubled, "
                f"{verdict.forgotten} forgotten",
            )

        await campaign.run(report)
    if isinstance(oncegate, Oncegate) and campaign.verdict.is_clean():
        log = await examine(campaign, oncegate)
        console.print(f"session log: {log.event_count} events, no gap, every message once")


def _summarise(campaign: Campaign) -> None:
    verdict, cuts = campaign.verdict, campaign.cuts
    if not cuts:
        return
    starts = [cut.start_seconds for cut in cuts if cut.start_seconds is not None]
    instants = Counter(cut.at.split()[0] for cut in cuts)
    total = Counter[str]()
    for cut in cuts:
        total.update(cut.loss)
    table = Table(title=f"{len(cuts)} power cuts, seed {campaign.seed}", show_header=False)
    table.add_row("the power went before", ", ".join(f"{n} {at}" for at, n in instants.items()))
    table.add_row(
        "unsynced at the cuts",
        f"{total['sectors_kept']} sectors kept, {total['sectors_lost']} lost; "
        f"{total['names_kept']} names kept, {total['names_lost']} lost",
    )
    if starts:
        table.add_row(
            "start after a cut", f"{median(starts):.1f} s median, {max(starts):.1f} s max"
        )
    table.add_row("messages acknowledged", str(verdict.acknowledged))
    table.add_row("given to subscribers", str(sum(map(_taken, campaign.subscribers))))
    if campaign.is_counted:
        _count_row(table, "acknowledged and lost", verdict.lost)
    else:
        table.add_row("acknowledged and lost", "not counted: the run was not finished")
    for name, count in (
        ("QoS 2 doubled", verdict.doubled),
        ("sessions forgotten", verdict.forgotten),
        ("out of order", verdict.disordered),
        ("starts that found damage", verdict.damaged),
    ):
        _count_row(table, name, count)
    console.print(table)
    for note in verdict.notes[:NOTES_SHOWN]:
        console.print(note, markup=False, highlight=False)


def _count_row(table: Table, name: str, count: int) -> None:
    table.add_row(name, str(count), style="red" if count else "green")


def _taken(subscriber: WatchfulSubscriber) -> int:
    return sum(len(numbers) for numbers in subscriber.seen.values())


if __name__ == "__main__":
    typer.run(main)

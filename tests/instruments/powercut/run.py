"""`make powercut`: hundreds of power cuts under load, with progress and a readable summary.

make powercut CUTS=500                          Oncegate, on a disk that keeps fsynced data
make powercut SEED=4711                         the random choices of an earlier run
make powercut ARGUMENTS="--peer bridge"         sensors, bridge and broker, cut together and
                                                alone
make powercut ARGUMENTS="--disk lying"          a disk whose fsync is a lie
make powercut ARGUMENTS="--faults all"          EIO, failed fsyncs, short reads and writes too
make powercut ARGUMENTS="--peer mosquitto"      the same cuts for Debian's Mosquitto
"""

import asyncio
import enum
import signal
import time
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.instruments.powercut.machine import FAULTS
from tests.instruments.powercut.mounted_disk import why_not
from tests.instruments.powercut.trials import BrokerTrial, SerialTrial, Trial

console = Console()

NOTES_SHOWN = 6


class DiskKind(enum.StrEnum):
    """The kind of disk: it keeps the promise of an fsync, or lies."""

    HONEST = "honest"
    LYING = "lying"


class Peer(enum.StrEnum):
    """The program whose power is cut."""

    ONCEGATE = "oncegate"
    BRIDGE = "bridge"
    MOSQUITTO = "mosquitto"


def main(
    cuts: Annotated[int, typer.Option(min=1, help="How many power cuts.")] = 100,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
    disk: Annotated[DiskKind, typer.Option(help="How the disk takes an fsync.")] = DiskKind.HONEST,
    peer: Annotated[Peer, typer.Option(help="Whose power is cut.")] = Peer.ONCEGATE,
    faults: Annotated[
        str, typer.Option(help=f"Disk faults for a while: all, or of {', '.join(FAULTS)}.")
    ] = "",
) -> None:
    """Cut the power of a broker under QoS 1 and 2 load, again and again, and count."""
    reason = why_not()
    if reason is not None:
        console.print(f"cannot mount the disk: {reason}")
        raise typer.Exit(2)
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    is_lying = disk is DiskKind.LYING
    kinds = tuple(FAULTS) if faults == "all" else tuple(filter(None, faults.split(",")))
    if not set(kinds) <= set(FAULTS):
        raise typer.BadParameter(f"{faults}: choose all, or of {', '.join(FAULTS)}")
    trial: Trial
    if peer is Peer.BRIDGE:
        trial = SerialTrial(chosen, cuts, is_lying=is_lying, faults=kinds)
    else:
        is_mosquitto = peer is Peer.MOSQUITTO
        trial = BrokerTrial(
            chosen, cuts, is_mosquitto=is_mosquitto, is_lying=is_lying, faults=kinds
        )
    console.print(f"{cuts} power cuts for {peer} on an {disk} disk, seed {chosen}")
    # SIGTERM ends the run like Ctrl-C, so that no process or mount remains.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    is_broken = False
    try:
        asyncio.run(_run(trial, cuts))
    except* AssertionError as group:
        is_broken = True
        for failure in _failures_in(group):
            console.print(f"[red]broken:[/red] {escape(str(failure))}")
    finally:
        is_evidence = is_broken or (trial.must_hold and not trial.verdict.is_clean())
        trial.remove()
        for mounted in trial.disks:
            mounted.remove()
        _summarise(trial, chosen)
        if is_evidence:
            # The media of the last cuts are kept.
            console.print("evidence:", *(str(mounted.directory) for mounted in trial.disks))
            chosen_faults = f" --faults {faults}" if faults else ""
            arguments = f' ARGUMENTS="--peer {peer}{chosen_faults}"'
            console.print(f"again: make powercut CUTS={cuts} SEED={chosen}{arguments}")
        else:
            for mounted in trial.disks:
                mounted.forget()
    raise typer.Exit(1 if is_evidence else 0)


def _failures_in(group: BaseExceptionGroup[AssertionError]) -> Iterator[AssertionError]:
    for failure in group.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _failures_in(failure)
        else:
            yield failure


async def _run(trial: Trial, cut_count: int) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("cuts", total=cut_count)

        def report() -> None:
            progress.update(bar, advance=1, description=trial.progress())

        session_log = await trial.run(report)
    if session_log is not None:
        console.print(f"session log: {session_log}")


def _summarise(trial: Trial, seed: int) -> None:
    cuts = trial.cuts
    if not cuts:
        return
    total = Counter[str]()
    for cut in cuts:
        total.update(cut.loss)
    instants = Counter(cut.at.split()[0] for cut in cuts)
    table = Table(title=f"{len(cuts)} power cuts, seed {seed}", show_header=False)
    table.add_row("the power went before", ", ".join(f"{n} {at}" for at, n in instants.items()))
    table.add_row(
        "unsynced at the cuts",
        f"{total['sectors_kept']} sectors kept, {total['sectors_lost']} lost; "
        f"{total['names_kept']} names kept, {total['names_lost']} lost",
    )
    for name, reported in trial.rows():
        table.add_row(name, reported)
    for name, count in trial.counts():
        if count is None:
            table.add_row(name, "not counted: the run was not finished")
        else:
            table.add_row(name, str(count), style="red" if count else "green")
    console.print(table)
    for note in trial.verdict.notes[:NOTES_SHOWN]:
        console.print(note, markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)

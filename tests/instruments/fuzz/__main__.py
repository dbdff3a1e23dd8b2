"""`make fuzz`: run all targets in parallel, show their progress, and report their findings.

The exit code is 1 if something was found.
"""

import argparse
import asyncio
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tests.instruments.fuzz.campaign import ROOT, Campaign, run_all, why_not
from tests.instruments.fuzz.report import report_of
from tests.instruments.fuzz.targets import ALL, TARGETS

FOLDER = ROOT / ".fuzz"
SHOWN_EVERY_SECONDS = 1.0
PRINTED_EVERY_SECONDS = 30.0
"""Seconds between progress lines if the output is not a terminal."""


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="how long (600)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="inputs and findings (.fuzz)")
    parser.add_argument("--seed", type=int, default=0, help="0: another run each time")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parsed = parser.parse_args()
    unknown = [name for name in parsed.targets if name not in ALL]
    if unknown:
        parser.error(f"no target {unknown[0]!r}: expected some of {', '.join(TARGETS)}")
    return parsed


def table_of(campaigns: list[Campaign], seconds_left: float) -> Table:
    """Return a table of each campaign's progress."""
    title = f"Fuzzing, {max(0, round(seconds_left))} s left" if seconds_left > 0 else "Fuzzing"
    table = Table(title=title, title_justify="left")
    table.add_column("target")
    for heading in ("runs", "per second", "code covered", "inputs kept"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for campaign in campaigns:
        state = "found something" if campaign.finding else "done" if campaign.is_over else ""
        counts = (campaign.runs, campaign.per_second, campaign.coverage, campaign.inputs)
        table.add_row(
            campaign.name,
            *[f"{count:,}" for count in counts],
            state,
            style="bold red" if campaign.finding else "",
        )
    return table


def fuzz(console: Console, campaigns: list[Campaign]) -> None:
    """Run the campaigns, and show their progress."""
    ends = time.monotonic() + campaigns[0].seconds

    def table() -> Table:
        return table_of(campaigns, ends - time.monotonic())

    if not console.is_terminal:
        every = PRINTED_EVERY_SECONDS
        asyncio.run(run_all(campaigns, lambda: console.print(table()), every))
        return
    with Live(table(), console=console, auto_refresh=False) as live:
        asyncio.run(
            run_all(campaigns, lambda: live.update(table(), refresh=True), SHOWN_EVERY_SECONDS)
        )


def main() -> int:
    """Fuzz, report, and return the exit code."""
    asked = arguments()
    console = Console()
    reason = why_not()
    if reason is not None:
        console.print(reason)
        return 1
    names = asked.targets or list(TARGETS)
    # Both signals end the campaigns, even if this process was started with them ignored.
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    campaigns = [Campaign(name, asked.folder, asked.seconds, seed=asked.seed) for name in names]
    try:
        fuzz(console, campaigns)
    except KeyboardInterrupt:
        console.print("Stopped. The next run goes on from here.")
    found = [campaign for campaign in campaigns if campaign.finding is not None]
    for campaign in found:
        assert campaign.finding is not None, "it has just been looked at"
        console.rule(f"found by {campaign.name}")
        print(report_of(campaign.name, campaign.finding))
    if not found:
        console.print(f"Nothing found in {sum(campaign.runs for campaign in campaigns):,} runs.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

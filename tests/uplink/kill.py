"""`make uplink-kill` kills uplink and brokers, cuts the link, and counts the effects.

make uplink-kill KILLS=100                    a second Oncegate is the upstream broker
make uplink-kill ARGUMENTS=--mosquitto        Mosquitto is the upstream broker and is not killed
make uplink-kill SEED=4711                    the random numbers of an earlier run
"""

import asyncio
import time
from typing import Annotated

import typer
from rich.console import Console

from tests.uplink.killing import Campaign

console = Console(soft_wrap=True)


def main(
    kills: Annotated[int, typer.Option(min=1, help="How many SIGKILLs.")] = 100,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
    mosquitto: Annotated[bool, typer.Option(help="Mosquitto is the upstream broker.")] = False,
    protocol: Annotated[int, typer.Option(min=4, max=5, help="Towards the upstream one.")] = 5,
) -> None:
    """Kill processes repeatedly, and count what was lost.

    With --mosquitto the uplink and this gateway's broker are killed and the link is cut, but
    Mosquitto continues. Mosquitto 2.0 saves its sessions and messages when it stops and at each
    autosave_interval (30 minutes). If it is killed it forgets the messages that it has acknowledged
    since then, and its clients' sessions. Delivery exactly once is impossible then, whatever the
    uplink does, and a count of losses would only measure Mosquitto. A clean restart of Mosquitto is
    tested in tests/uplink/test_killed.py.
    """
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    console.print(f"{kills} kills, seed {chosen}")
    campaign = Campaign(
        chosen,
        mosquitto=mosquitto,
        victims=("uplink", "local") if mosquitto else ("uplink", "local", "upstream"),
        cuts=2 * kills,
        protocol=protocol,
    )
    is_over = False
    try:
        asyncio.run(campaign.run(kills, lambda: console.print(campaign.summary())))
        is_over = True
    finally:
        console.print(campaign.summary())
        if is_over and campaign.is_whole():
            campaign.remove()
        else:
            campaign.stop()
            console.print(f"evidence: {campaign.local.directory}")
            console.print(f"again: make uplink-kill KILLS={kills} SEED={chosen}")
    raise typer.Exit(0 if campaign.is_whole() else 1)


if __name__ == "__main__":
    typer.run(main)

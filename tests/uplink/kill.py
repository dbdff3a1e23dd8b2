"""`make uplink-kill`: SIGKILLs of the uplink and both brokers and cuts of the link, counted.

make uplink-kill KILLS=100                    a second Oncegate is the upstream broker
make uplink-kill ARGUMENTS=--mosquitto        Mosquitto is, which is not ended itself
make uplink-kill SEED=4711                    the dice of an earlier run
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
    """Kill, again and again, and count.

    With --mosquitto the uplink and this gateway's broker are killed and the link is cut, and
    Mosquitto goes on. Mosquitto 2.0 writes its sessions and messages down when it stops, and each
    autosave_interval (30 minutes): killed, it forgets what it has acknowledged since, and its
    clients' sessions with that. Exactly once cannot hold across it, whatever the uplink does, so
    that a count of what is lost would be one of Mosquitto. One clean restart of it is a test:
    tests/uplink/test_killed.py.
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

"""`oncegate simulate-board`: a simulated sensor board on a pseudo-terminal."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import (
    ConfigOption,
    QuietOption,
    VerboseOption,
    configuration_of,
)


def simulate_board(
    link: Annotated[Path, typer.Argument(help="Path of the link to the pseudo-terminal.")],
    interval: Annotated[
        str, typer.Option("--interval", metavar="DURATION", help="Time between two readings.")
    ] = "1s",
    device: Annotated[
        int, typer.Option("--device", help="Number of the board.", min=0, max=0xFFFFFFFF)
    ] = 42,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a sensor board, to try the gateway without one.

    The simulator uses the framing of real boards: frames are numbered, and sent
    again until the bridge acknowledges them. LINK cannot be an existing file or
    the link of another running simulator.

    Examples:

        oncegate simulate-board ./var/board

        oncegate simulate-board /tmp/board --interval 100ms --device 7
    """
    from firmware_bridge.simulator import LinkTaken, serve

    from gateway.cli.running.processes import serve_until_stopped

    if config is not None:
        configuration_of(config)
    interval_seconds = _seconds_of(interval)
    serve_until_stopped(
        "board",
        lambda stop: serve(link, stop, interval_seconds=interval_seconds, device=device),
        verbose=verbose,
        quiet=quiet,
        refusals=(LinkTaken,),
    )


def _seconds_of(interval: str) -> float:
    from pydantic_core import PydanticCustomError

    from gateway.process.declarations.quantities import Duration

    try:
        seconds = Duration(0.001, 86400).value_of(interval)
    except PydanticCustomError as error:
        raise CommandFailed(f"--interval: use {error}", exit_code=EXIT_CONFIGURATION) from None
    assert seconds is not None
    return seconds

"""`oncegate update`: a new version of the whole card, which the card's own command installs."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.failures import CommandFailed

CARD_COMMAND = "oncegate-device"
PACKAGE = Path("/usr/lib/oncegate")
"""Where the Debian package has its Python."""


def update(
    bundle: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="A .raucb file, or its https:// address.")
    ],
    rollback_ends: Annotated[
        bool,
        typer.Option(
            "--rollback-ends",
            help="Install it although the version before could not read the data afterwards.",
        ),
    ] = False,
) -> None:
    """Install a new version of the SD card's system, as root.

    The bundle is verified, and written into the slot that does not run; the gateway goes on
    meanwhile, and the power may go at any moment. The next restart tries the new slot. It is kept
    when the gateway turns out healthy, otherwise the device goes back to the slot of now by itself.
    Readings, settings and identity stay. `oncegate-device status` and the status page show how far
    it came.

    Elsewhere than on the card, an installation is updated as it was installed: apt or pip.

    Examples:

        oncegate update /media/stick/oncegate-0.2.0-arm64.raucb

        oncegate update https://example.org/oncegate-0.2.0-arm64.raucb

        systemctl reboot
    """
    command = shutil.which(CARD_COMMAND)
    if command is None:
        raise CommandFailed(f"oncegate update: this is not the SD card's system: {_way_here()}")
    options = ["--rollback-ends"] if rollback_ends else []
    sys.stdout.flush()
    os.execv(command, [CARD_COMMAND, "update", *options, bundle])  # noqa: S606 - no shell is wanted


def _way_here() -> str:
    """Return how this installation is updated."""
    if Path(sys.prefix) == PACKAGE:
        return "update the package with `apt install ./oncegate_VERSION_ARCHITECTURE.deb`"
    return "update this installation with `pip install --upgrade 'oncegate[all]'`"

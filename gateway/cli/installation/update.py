"""`oncegate update`: installs a new version of the whole SD card system."""

import json
import os
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from gateway.cli.common.failures import EXIT_USAGE, CommandFailed

CARD_COMMAND = "oncegate-device"
BUNDLE_EXPECTED = "oncegate update: name a .raucb file or its https:// address"
PACKAGE = Path("/usr/lib/oncegate")
"""Directory of the Python environment in the Debian package."""
CONTAINER_MARKS = (Path("/run/.containerenv"), Path("/.dockerenv"))
"""Files that Podman and Docker create in each container."""


def update(
    bundle: Annotated[
        str | None, typer.Argument(metavar="FILE|URL", help="A .raucb file, or its https:// URL.")
    ] = None,
    rollback_ends: Annotated[
        bool,
        typer.Option(
            "--rollback-ends",
            help="Install even if the previous version could not read the data afterwards.",
        ),
    ] = False,
) -> None:
    """Install a new version of the SD card's system, as root.

    The card has two slots, each for a whole system. The bundle is verified and
    written into the slot that is not in use. The gateway keeps running, and a
    power failure does no harm. The next restart tries the new system. If the
    gateway is not healthy after the restart, the device automatically returns
    to the old system. Readings, settings and identity are kept.
    `oncegate-device status` and the status page show the progress.

    Other installations are updated with a newer version of the Debian package,
    container image, checkout or wheel file that they were installed from.

    Examples:

        oncegate update /media/stick/oncegate-0.2.0-arm64.raucb

        oncegate update https://example.org/oncegate-0.2.0-arm64.raucb

        systemctl reboot
    """
    command = shutil.which(CARD_COMMAND)
    if command is None:
        raise CommandFailed(f"oncegate update: this is not the SD card's system: {how_to_update()}")
    if bundle is None:
        raise CommandFailed(BUNDLE_EXPECTED, exit_code=EXIT_USAGE)
    options = ["--rollback-ends"] if rollback_ends else []
    sys.stdout.flush()
    os.execv(command, [CARD_COMMAND, "update", *options, bundle])  # noqa: S606 - no shell is wanted


def how_to_update() -> str:
    """Return a phrase for error messages that explains how to update this installation.

    The phrase never names a package index. Oncegate is not published on a package index, so a
    stranger could register a package under this name.
    """
    if Path(sys.prefix) == PACKAGE:
        if any(mark.exists() for mark in CONTAINER_MARKS):
            return "start the container from a newer image, with the same volume for its data"
        return "install a newer package with `apt install ./oncegate_VERSION_ARCHITECTURE.deb`"
    origin = direct_url()
    if origin.get("dir_info", {}).get("editable"):
        checkout = unquote(urlsplit(origin["url"]).path)
        return f"update the checkout with `git -C {checkout} pull`, and start it again"
    pip = Path(sys.prefix) / "bin" / "pip"
    return (
        "make a newer wheel with `make wheel` in a checkout, and install that file: "
        f"`{pip} install './oncegate-VERSION-PLATFORM.whl[all]'`"
    )


def direct_url() -> dict[str, Any]:
    """Return pip's record of where this installation came from (PEP 610), or an empty mapping."""
    written = distribution("oncegate").read_text("direct_url.json")
    found: dict[str, Any] = json.loads(written or "{}")
    return found

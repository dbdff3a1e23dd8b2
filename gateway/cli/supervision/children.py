"""The processes that `oncegate up` starts for the gateway and its tenants."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.cli.supervision.supervisor import Child
    from gateway.configuration import Configuration

BOARD_LINK = "board"


def children_of(
    configuration: "Configuration", options: Sequence[str], *, as_services: bool
) -> "list[Child]":
    """Return the processes that `oncegate up` runs, in the order in which it starts them.

    `options` are command line options that are passed to each process. If `as_services` is True, no
    simulated board is started.
    """
    from gateway.cli.supervision.supervisor import Child

    # -P: ignore a directory called `gateway` in the caller's working directory.
    oncegate = [sys.executable, "-P", "-m", "gateway.cli.main"]
    children = [
        Child("broker", [*oncegate, "broker", *options], reports_ready=True),
        Child("upload", [*oncegate, "upload", *options]),
        Child("api", [*oncegate, "api", *options], reports_ready=True),
    ]
    if not configuration.serial and configuration.admits_bridge and not as_services:
        link = str(board_link(configuration))
        children.append(Child("board", [*oncegate, "simulate-board", link, *options]))
    children.append(Child("bridge", [*oncegate, "bridge", *options]))
    if configuration.uplink.address is not None:
        children.append(Child("uplink", [*oncegate, "uplink", *options]))
    # These do not report readiness: a tenant that cannot start must not delay the others.
    for tenant, its in configuration.tenants.items():
        for command in _commands_of(its):
            named = [command, *options, "--tenant", tenant]
            children.append(Child(of_tenant(command, tenant), [*oncegate, *named]))
    return children


def _commands_of(tenant: "Configuration") -> list[str]:
    """Return the subcommands to run for a tenant."""
    others = {"api": "api" in tenant.given, "uplink": tenant.uplink.address is not None}
    return ["broker", "upload", *(command for command, is_wanted in others.items() if is_wanted)]


def of_tenant(command: str, tenant: str) -> str:
    """Return the name of a tenant's process, such as `broker of acme`."""
    return f"{command} of {tenant}"


def board_link(configuration: "Configuration") -> Path:
    """Return the path of the link to the simulated board's pseudo-terminal."""
    return configuration.gateway.data_dir / BOARD_LINK

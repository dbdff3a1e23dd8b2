"""The options that verbs share, and how they become a configuration."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.configuration_file import FILE_VARIABLE, INSTALLED_FILE, read_configuration
from gateway.cli.failures import EXIT_CONFIGURATION, CommandFailed

if TYPE_CHECKING:
    from gateway.configuration import Configuration


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help=f"The configuration file. Default: ${FILE_VARIABLE}, else {INSTALLED_FILE} if there.",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Where the gateway keeps its data: ./var"),
]
ListenOption = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Where the broker listens: 127.0.0.1:1883. Port 0: any.",
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="NAME", help="The tenant that is meant. Default: the gateway's own."
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log every step, for finding a fault.")
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, for programs: docs/commands.md."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Log warnings and errors only.")]


def configuration_of(
    config: Path | None, *, tenant: str | None = None, **overrides: object
) -> "Configuration":
    """Read the configuration for a verb that begins, a tenant's where one is named.

    Raises CommandFailed with a line for each mistake.
    """
    from gateway.configuration import ConfigurationError

    try:
        return read_configuration(config, tenant=tenant, **overrides)
    except ConfigurationError as error:
        raise CommandFailed(error.problems, exit_code=EXIT_CONFIGURATION) from None

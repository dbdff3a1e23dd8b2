"""The options that verbs share, and how they become a configuration.

Without `--config` the file is the one that ONCEGATE_CONFIG names, else /etc/oncegate/gateway.toml
where that exists, else none: every key has a default.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.failures import CommandFailed

if TYPE_CHECKING:
    from gateway.configuration import Configuration

INSTALLED_FILE = Path("/etc/oncegate/gateway.toml")
FILE_VARIABLE = "ONCEGATE_CONFIG"
EXIT_CONFIGURATION = 2

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
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log every step, for finding a fault.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Log warnings and errors only.")]


def file_of(config: Path | None) -> Path | None:
    """The configuration file that counts, or None."""
    if config is not None:
        return config
    if os.environ.get(FILE_VARIABLE):
        return Path(os.environ[FILE_VARIABLE])
    return INSTALLED_FILE if INSTALLED_FILE.exists() else None


def configuration_of(config: Path | None, **overrides: object) -> "Configuration":
    """The configuration, for a verb that begins. Raises CommandFailed with a line for each
    mistake."""
    from gateway.cli.in_child import in_child
    from gateway.configuration import ConfigurationError

    def read() -> "Configuration | ConfigurationError":
        try:
            return read_configuration(config, **overrides)
        except ConfigurationError as error:
            return error

    # What checks a configuration takes more memory than what was checked, and is not needed again.
    outcome = in_child(read)
    if isinstance(outcome, ConfigurationError):
        raise CommandFailed(outcome.problems, exit_code=EXIT_CONFIGURATION)
    return outcome


def read_configuration(config: Path | None, **overrides: object) -> "Configuration":
    """The configuration; `overrides` are named as in `load`, with `__` for the dot.

    Raises ConfigurationError.
    """
    from gateway.configuration import load

    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return load(file_of(config), os.environ, named)

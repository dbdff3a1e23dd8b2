"""The subcommands of the command line, and the messages for mistyped commands."""

import os
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Final, Literal

import typer

from gateway.cli.common.failures import (
    EXIT_CODES_TEXT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    say,
)
from gateway.cli.services.prepared import Prepared
from gateway.process.files.disk_errors import line_of

PROGRAM = "oncegate"
COMPLETION_VARIABLE = "_ONCEGATE_COMPLETE"
"""Environment variable set by a completion script, so that the command prints the possible next
words."""

Shell = Literal["bash", "zsh", "fish"]

_EXTRA_FILE = re.compile(r"unexpected extra argument.*\((\S+\.toml)\)")
"""Matches the error for a configuration file that was given without `--config`, which other daemons
accept."""

COMMANDS: Final = {
    "up": "supervision.up:up",
    "broker": "services.broker:broker",
    "bridge": "services.bridge:bridge",
    "uplink": "services.uplink:uplink",
    "api": "services.api:api",
    "upload": "services.upload:upload",
    "simulate-board": "serial.simulate_board:simulate_board",
    "ingest": "tables.ingest:ingest",
    "audit": "tools.audit:audit",
    "gold": "tables.jobs:gold",
    "gaps": "tables.jobs:gaps",
    "requeue": "tables.jobs:requeue",
    "compact": "tables.jobs:compact",
    "vacuum": "tables.jobs:vacuum",
    "query": "tables.query:query",
    "report": "tables.report:report",
    "ctl": "control.ctl:application",
    "serial": "serial.commands:application",
    "acl": "access.acl:application",
    "api-token": "access.api_token:application",
    "passwd": "access.passwd:passwd",
    "tls": "access.tls:application",
    "id": "installation.identity:identity",
    "bench": "tools.bench:bench",
    "update": "installation.update:update",
    "backup": "installation.backup:backup",
    "restore": "installation.restore:restore",
    "check-config": "installation.check_config:check_config",
}
"""The subcommands in the order of the help text.

Each value is a module below `gateway.cli`, and the name of a function or a group of commands in it.
A module is imported when its subcommand is used, so that a service does not wait for the modules of
other subcommands."""


def application_of(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Build the command-line application with the subcommands in `names`.

    The modules of these subcommands are imported.
    """
    application = typer.Typer(
        name=PROGRAM,
        epilog=f"Start with:  oncegate up\n\n{EXIT_CODES_TEXT}",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(oncegate)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"gateway.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=name)
        else:
            application.command(name)(command)
    return application


def _show_version(wanted: bool) -> None:
    if wanted:
        from gateway.cli.installation.version import version_text

        print(version_text())
        raise typer.Exit


def completion_script(shell: Shell) -> str:
    """Return the completion script of `oncegate` for a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script: str = get_completion_script(
        prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell
    )
    return script


def _show_completion(shell: Shell | None) -> None:
    if shell is not None:
        print(completion_script(shell))
        raise typer.Exit


def oncegate(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version, and whether the broker's core is compiled.",
        ),
    ] = False,
    __: Annotated[
        Shell | None,
        typer.Option(
            "--show-completion",
            metavar="SHELL",
            callback=_show_completion,
            is_eager=True,
            help="Print the completion script for a shell.",
        ),
    ] = None,
) -> None:
    """An edge gateway that never loses and never doubles a reading."""  # noqa: D401 - for --help


def execute(arguments: Sequence[str]) -> int | Prepared:
    """Run a subcommand. Return its exit code, or the service that it has prepared.

    Raises CommandFailed or OSError if the command fails, and ModuleNotFoundError if it needs a
    Python package that is not installed.
    """
    is_completion = COMPLETION_VARIABLE in os.environ
    if is_completion:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    is_named = bool(arguments) and arguments[0] in COMMANDS and not is_completion
    application = application_of(arguments[:1] if is_named else COMMANDS)
    try:
        outcome = application(arguments, prog_name=PROGRAM, standalone_mode=False)
    except typer.TyperException as error:
        _explain(error)
        return EXIT_USAGE
    except typer.Abort:
        return EXIT_INTERRUPTED
    return outcome if isinstance(outcome, int | Prepared) else EXIT_OK


def _explain(error: typer.TyperException) -> None:
    """Print one line about a mistyped command. If typer has shown the help, print nothing."""
    # pydantic, which checks the values for typer, puts "Value error, " before its reason.
    message = line_of(error.format_message()).replace("Value error, ", "").removesuffix(".")
    if message:
        # A usage error refers to the subcommand in which it occurred.
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "oncegate"
        extra_file = _EXTRA_FILE.search(message)
        if extra_file:
            say(f"{command}: {message}: name the configuration file with --config {extra_file[1]}")
        else:
            say(f"{command}: {message} (see: {command} --help)")

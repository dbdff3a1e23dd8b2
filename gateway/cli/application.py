"""The subcommands of the command line, and the messages for mistyped commands."""

import os
import re
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from gateway.cli.access import acl, api_token, passwd, tls
from gateway.cli.common.failures import (
    EXIT_CODES_TEXT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    say,
)
from gateway.cli.control import ctl
from gateway.cli.installation import backup, check_config, identity, restore, update
from gateway.cli.serial import commands as serial
from gateway.cli.serial import simulate_board
from gateway.cli.services import api, bridge, broker, uplink, upload
from gateway.cli.services.prepared import Prepared
from gateway.cli.supervision import up
from gateway.cli.tables import ingest, jobs, query, report
from gateway.cli.tools import audit, bench
from gateway.process.files.disk_errors import line_of

PROGRAM = "oncegate"
COMPLETION_VARIABLE = "_ONCEGATE_COMPLETE"
"""Environment variable set by a completion script, so that the command prints the possible next
words."""

Shell = Literal["bash", "zsh", "fish"]

_EXTRA_FILE = re.compile(r"unexpected extra argument.*\((\S+\.toml)\)")
"""Matches the error for a configuration file that was given without `--config`, which other daemons
accept."""

application = typer.Typer(
    name=PROGRAM,
    epilog=f"Start with:  oncegate up\n\n{EXIT_CODES_TEXT}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.command("up")(up.up)
application.command("broker")(broker.broker)
application.command("bridge")(bridge.bridge)
application.command("uplink")(uplink.uplink)
application.command("api")(api.api)
application.command("upload")(upload.upload)
application.command("simulate-board")(simulate_board.simulate_board)
application.command("ingest")(ingest.ingest)
application.command("audit")(audit.audit)
application.command("gold")(jobs.gold)
application.command("gaps")(jobs.gaps)
application.command("requeue")(jobs.requeue)
application.command("compact")(jobs.compact)
application.command("vacuum")(jobs.vacuum)
application.command("query")(query.query)
application.command("report")(report.report)
application.add_typer(ctl.application, name="ctl")
application.add_typer(serial.application, name="serial")
application.add_typer(acl.application, name="acl")
application.add_typer(api_token.application, name="api-token")
application.command("passwd")(passwd.passwd)
application.add_typer(tls.application, name="tls")
application.command("id")(identity.identity)
application.command("bench")(bench.bench)
application.command("update")(update.update)
application.command("backup")(backup.backup)
application.command("restore")(restore.restore)
application.command("check-config")(check_config.check_config)


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


@application.callback()
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
    if COMPLETION_VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
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
    message = line_of(error.format_message())
    if message:
        # A usage error refers to the subcommand in which it occurred.
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "oncegate"
        extra_file = _EXTRA_FILE.search(message)
        if extra_file:
            say(f"{command}: {message}: name the configuration file with --config {extra_file[1]}")
        else:
            say(f"{command}: {message} (see: {command} --help)")

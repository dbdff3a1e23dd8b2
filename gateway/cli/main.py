"""The command line's entry point: finds the verb, and ends with one line where it cannot go on."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gateway.cli import (
    api,
    audit,
    bench,
    bridge,
    broker,
    check_config,
    ctl,
    identity,
    ingest,
    passwd,
    simulate_board,
    up,
    update,
    upload,
)
from gateway.cli.failures import CommandFailed, line_of
from gateway.private_files import apply_umask

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
OUR_PACKAGES = frozenset({"gateway", "firmware_bridge", "api", "cloud_jobs"})

application = typer.Typer(
    name="oncegate",
    epilog="Start with:  oncegate up",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.command("up")(up.up)
application.command("broker")(broker.broker)
application.command("bridge")(bridge.bridge)
application.command("api")(api.api)
application.command("upload")(upload.upload)
application.command("simulate-board")(simulate_board.simulate_board)
application.command("ingest")(ingest.ingest)
application.command("audit")(audit.audit)
application.add_typer(ctl.application, name="ctl")
application.command("passwd")(passwd.passwd)
application.command("id")(identity.identity)
application.command("bench")(bench.bench)
application.command("update")(update.update)
application.command("check-config")(check_config.check_config)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from gateway.server.compiled import COMPILED

        print(
            f"oncegate {version('oncegate')} (core: {'compiled' if COMPILED else 'plain Python'})"
        )
        raise typer.Exit


@application.callback()
def oncegate(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Say which version this is, and whether its core is compiled.",
        ),
    ] = False,
) -> None:
    """An edge gateway that never loses and never doubles a reading."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb and end the process with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. Only our own mistakes come out as exceptions."""
    exit_code = EXIT_FAILED
    apply_umask()
    try:
        outcome = application(arguments, prog_name="oncegate", standalone_mode=False)
        exit_code = outcome if isinstance(outcome, int) else 0
    except CommandFailed as failure:
        for line in failure.lines:
            _say(line)
        exit_code = failure.exit_code
    except typer.TyperException as error:
        _explain(error)
        exit_code = EXIT_USAGE
    except typer.Abort:
        exit_code = EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough; the interpreter must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModuleNotFoundError as error:
        # Each process has its own extra; a package of ours that is missing is our own mistake.
        if (error.name or "").partition(".")[0] in OUR_PACKAGES:
            raise
        _say(f"oncegate: the Python package {error.name} is missing: pip install 'oncegate[all]'")
    except OSError as error:
        _say(f"oncegate: {line_of(error)}")
    return exit_code


def _explain(error: typer.TyperException) -> None:
    """One line for a command that was typed wrong; none where the help has been shown instead."""
    message = line_of(error.format_message())
    if message:
        # A usage error knows the verb that it belongs to.
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "oncegate"
        _say(f"{command}: {message} (see: {command} --help)")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()

"""Entry point of the command line. Runs a subcommand and reports a failure in one line.

A service's command line and configuration are parsed in a child process. Parsing takes 15 MB of
memory, which the service itself does not need (docs/decisions/0075-*.md).
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from gateway.cli.common.failures import EXIT_FAILED, EXIT_INTERRUPTED, CommandFailed, say
from gateway.cli.running.in_child import in_child
from gateway.cli.services.prepared import SERVICES, Prepared
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import apply_umask

Outcome = TypeVar("Outcome")
OUR_PACKAGES = frozenset({"gateway", "firmware_bridge", "api", "cloud_jobs"})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand and exit with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit code.

    An expected failure is printed in one line. Any other exception is a bug in this program.
    """
    typed = sys.argv[1:] if arguments is None else list(arguments)
    apply_umask()
    # Otherwise pydantic would search the metadata of all packages for plugins at each start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    def prepare() -> int | Prepared:
        from gateway.cli.application import execute

        return _explained(lambda: execute(typed))

    # Only the broker is imported early, because clients wait for it. Another service may have
    # nothing to do in this configuration.
    is_broker = typed[:1] == ["broker"]

    def import_modules() -> None:
        if is_broker:
            import gateway.broker.server.main  # noqa: F401

    if typed and typed[0] in SERVICES:
        # Imports create no garbage, and searching for it would take a tenth of the startup time.
        gc.disable()
        if is_broker:
            # Both processes need this module. An import before the fork loads it only once.
            import gateway.configuration  # noqa: F401

        outcome = _explained(lambda: in_child(prepare, import_modules))
        gc.enable()
    else:
        outcome = prepare()
    return outcome if isinstance(outcome, int) else _explained(outcome.run)


def _explained(step: Callable[[], Outcome]) -> Outcome | int:
    """Return the result of `step`. If `step` fails, print the reason and return the exit code."""
    exit_code = EXIT_FAILED
    try:
        return step()
    except CommandFailed as failure:
        for line in failure.lines:
            say(line)
        exit_code = failure.exit_code
    except KeyboardInterrupt:
        exit_code = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) has exited. Avoid the interpreter's complaint.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModuleNotFoundError as error:
        # Each process has its own optional dependencies. If one of our packages is missing, that
        # is a bug.
        if (error.name or "").partition(".")[0] in OUR_PACKAGES:
            raise
        say(
            f"oncegate: the Python package {error.name} is missing: install the wheel file with "
            "its extra, './oncegate-VERSION-PLATFORM.whl[all]' (docs/install.md)"
        )
    except OSError as error:
        say(f"oncegate: {line_of(error)}")
    return exit_code


if __name__ == "__main__":
    main()

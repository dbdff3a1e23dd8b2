"""Common parts of all long-running processes: signals, event loop, log, and readiness notification.

Each process has a function `serve`. SIGTERM and SIGINT set an event, and `serve` then stops the
parts of the process in order. A process that `oncegate up` started also stops when `oncegate up`
exits, even if the terminal is closed.
"""

import asyncio
import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.running import logs
from gateway.process.files import descriptors
from gateway.process.files.disk_errors import line_of
from gateway.process.files.private import prepare
from gateway.process.service import Service

SUPERVISOR_VARIABLE = "ONCEGATE_SUPERVISOR_PID"
READY_VARIABLE = "ONCEGATE_READY_FD"

# prctl(2)
_PR_SET_PDEATHSIG = 1

Serve = Callable[[asyncio.Event], Awaitable[None]]


def serve_until_stopped(
    process: str,
    serve: Serve,
    *,
    verbose: bool,
    quiet: bool,
    data_dir: Path | None = None,
    refusals: Sequence[type[Exception]] = (),
    mistakes: Sequence[type[Exception]] = (),
) -> None:
    """Call `serve` with an event that is set on SIGTERM or SIGINT. Return when `serve` returns.

    The data directory `data_dir` is created first. If it exists, its permissions are restricted.

    Raises CommandFailed if the limit on open files is too low, or on an OSError or an exception of
    a class in `refusals` or `mistakes`. These exceptions explain in one line why the service cannot
    continue. After an exception in `mistakes`, the exit code is EXIT_CONFIGURATION.
    """
    foreseen: tuple[type[Exception], ...] = (OSError, *refusals)
    logs.start(process, verbose=verbose, quiet=quiet)
    if (most := descriptors.raise_limit()) < descriptors.NEEDED:
        raise CommandFailed(
            f"oncegate {process}: this process may open {most} files, and needs at least "
            f"{descriptors.NEEDED}: raise the limit (ulimit -n, LimitNOFILE of the service, "
            "--ulimit nofile of a container)"
        )
    # systemd's watchdog kills a process with SIGABRT. The journal then shows where it hung.
    faulthandler.enable()
    _die_with_supervisor()
    try:
        if data_dir is not None:
            prepare(data_dir)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_until_stopped(serve))
    except tuple(mistakes) as error:
        line = f"oncegate {process}: {line_of(error)}"
        raise CommandFailed(line, exit_code=EXIT_CONFIGURATION) from error
    except foreseen as error:
        raise CommandFailed(f"oncegate {process}: {line_of(error)}") from error


def notify_ready() -> None:
    """Notify `oncegate up` that the service is ready, if `oncegate up` started this process."""
    descriptor = os.environ.pop(READY_VARIABLE, None)
    if descriptor is None:
        return
    try:
        os.write(int(descriptor), b"ready\n")
        os.close(int(descriptor))
    except (OSError, ValueError):
        # No process waits for the notification any more.
        return


def report_ready(service: Service) -> None:
    """Report the service as ready to systemd or `oncegate up`, whichever started this process."""
    notify_ready()
    service.ready()


async def _until_stopped(serve: Serve) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await serve(stop)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's event loop factory, or None if uvloop is not installed.

    With uvloop, socket operations take a third of the time.
    """
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _die_with_supervisor() -> None:
    """Ask the kernel to send SIGTERM to this process when `oncegate up` exits."""
    supervisor = os.environ.pop(SUPERVISOR_VARIABLE, None)
    if supervisor is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if str(os.getppid()) != supervisor:
        # `oncegate up` exited before prctl was called.
        raise CommandFailed("oncegate: the supervisor has ended")

"""Compiles the broker's core in a checkout while `oncegate up` runs, for use at the next start."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from gateway.broker import compiled_core

Say = Callable[[str], None]

STOP_SECONDS_MAX = 5.0
"""Seconds from SIGTERM to SIGKILL: a few are enough, because a compiler has no data to save."""


def is_missing(root: Path = compiled_core.ROOT) -> bool:
    """Return True if the core should be compiled.

    This is the case if its current sources have not been compiled yet. Return False outside a
    checkout, if compiling is switched off, if no compiler is available, or if compiling these
    sources has failed before.
    """
    if not compiled_core.is_wanted(root):
        return False
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    tools = compiler is not None and find_spec("mypyc") is not None
    folder = compiled_core.folder_of(compiled_core.key_of(root), root)
    return tools and not folder.exists() and not _has_failed(folder)


def _has_failed(folder: Path) -> bool:
    """Return True if an earlier attempt to compile the core into `folder` failed."""
    return folder.with_suffix(".failed").exists()


def log_in(root: Path) -> Path:
    """Return the path of the log file with the output of the last build in a checkout."""
    return root / "build" / "core.log"


async def build_until(stop: asyncio.Event, say: Say) -> None:
    """Compile the core in the background if necessary, and wait until `stop` is set.

    When `stop` is set, a compiler that is still running is stopped. The result of compiling is
    reported with `say`.
    """
    builder = asyncio.create_task(build_in_background(say)) if is_missing() else None
    await stop.wait()
    if builder is not None:
        builder.cancel()
        await asyncio.gather(builder, return_exceptions=True)


async def build_in_background(say: Say, root: Path = compiled_core.ROOT) -> None:
    """Compile the core at the lowest priority, and report the result with `say`.

    Cancelling the task stops the compiler.
    """
    say(
        "the broker's core runs as plain Python; it is being compiled for the next start "
        "(some minutes, lowest priority)"
    )
    log_in(root).parent.mkdir(exist_ok=True)
    with log_in(root).open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(root / compiled_core.BUILD_SCRIPT)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=root,
            process_group=0,
        )
    try:
        status = await process.wait()
    except asyncio.CancelledError:
        await _end(process)
        raise
    folder = compiled_core.folder_of(compiled_core.key_of(root), root)
    if folder.exists():
        say("the core is compiled: the next start uses it")
    elif _has_failed(folder):
        say(f"the core cannot be compiled and stays plain Python: see {log_in(root)}")
    elif status:
        say(f"the core was not compiled; the next start tries again: see {log_in(root)}")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stop the build process and its compiler, which form a process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS_MAX):
                await process.wait()
                return

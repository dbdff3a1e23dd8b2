"""Locks on a data directory. While the locks are held, no program of the gateway can use it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.process.files.lock import LockTaken, ProcessLock
from gateway.tools.backup.data_names import folders_in

_LOCKS: Final = {
    "broker.lock": "the broker",
    "log/lock": "the uploader",
    "bridge.lock": "the bridge",
    "bridge/bridge.lock": "the bridge",
    "uplink.lock": "the uplink",
    "uplink/uplink.lock": "the uplink",
}
"""Lock files, and the programs that hold them."""


class StillRunning(Exception):
    """Error raised if a program of the gateway is still using the data directory.

    The message names the program and explains how to stop it.
    """


@contextlib.contextmanager
def all_stopped(data_dir: Path) -> Iterator[None]:
    """Context manager that locks a data directory, so that no program of the gateway can use it.

    It holds the lock of each program in the directory and in its tenants' directories.

    Raises:
        StillRunning: if a program holds its lock.
        OSError: if a lock cannot be opened.
    """
    with contextlib.ExitStack() as held:
        for folder in folders_in(data_dir) if data_dir.is_dir() else []:
            for name, program in _LOCKS.items():
                path = data_dir / folder / name
                if path.exists():
                    _take(path, program, held)
        yield


def _take(path: Path, program: str, held: contextlib.ExitStack) -> None:
    lock = held.enter_context(ProcessLock(path))
    try:
        lock.take()
    except LockTaken as taken:
        process = f" (process {taken.holder})" if taken.holder else ""
        raise StillRunning(
            f"{program}{process} works in {path.parent}: stop the gateway first, with `systemctl "
            "stop oncegate.target` or Ctrl-C in `oncegate up`"
        ) from None

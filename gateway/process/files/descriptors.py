"""File descriptors: the limit of this process, and handling of its exhaustion.

Each connection takes one. A process without free descriptors cannot open its own files, so the
limit is raised as far as the system allows, and part of it is reserved for files.
"""

import errno
import os
import resource
from typing import Final

RESERVED: Final = 512
"""Descriptors not used for client connections: journal, tables and listeners (50), control sockets
(192), connections that are refused or being closed (128)."""

NEEDED: Final = 64
"""Descriptors without which no process starts: the broker itself opens 30."""

USED_MAX: Final = 1_048_576
"""Descriptors used by a process, at most: some systems allow a billion, but this is the kernel's
own limit for a process (`fs.nr_open`)."""

_USED_UP: Final = frozenset({errno.EMFILE, errno.ENFILE})


def raise_limit() -> int:
    """Raise the soft limit of open files to the hard limit, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _bounded(hard)
    if _bounded(soft) >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return limit()  # a sandbox may forbid it; the soft limit then applies
    return wanted


def limit() -> int:
    """Return the maximum number of open files of this process."""
    return _bounded(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _bounded(value: int) -> int:
    return USED_MAX if value == resource.RLIM_INFINITY else min(value, USED_MAX)


def for_connections() -> int:
    """Return the maximum number of client connections, after a reserve for this process's own
    files.

    With a low limit it is three quarters of it.
    """
    most = limit()
    return max(1, most - min(RESERVED, most // 4))


def connections_within(wanted: int) -> int:
    """Return the wanted number of connections, or fewer if the limit is lower."""
    return min(wanted, for_connections())


def ran_out(error: BaseException) -> bool:
    """Return True if a call failed because no descriptor was free."""
    return isinstance(error, OSError) and error.errno in _USED_UP


def are_used_up() -> bool:
    """Return True if no descriptor is free now.

    Libraries only report that a file cannot be opened.
    """
    try:
        descriptor = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return ran_out(error)
    os.close(descriptor)
    return False

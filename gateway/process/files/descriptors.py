"""Functions that raise the limit on open file descriptors, and check whether any are free.

Each connection uses a descriptor. A process without free descriptors cannot open its own files.
Therefore the limit is raised as far as the system allows, and some descriptors are reserved.
"""

import errno
import os
import resource
from typing import Final

RESERVED: Final = 512
"""Number of descriptors reserved for uses other than client connections: the journal, tables and
listeners (50), control sockets (192), and connections being refused or closed (128)."""

NEEDED: Final = 64
"""Smallest limit with which a process starts. The broker itself opens 30 descriptors."""

USED_MAX: Final = 1_048_576
"""Maximum limit that a process sets for itself. Some systems allow a billion, but the kernel's own
default maximum is this value (`fs.nr_open`)."""

_USED_UP: Final = frozenset({errno.EMFILE, errno.ENFILE})


def raise_limit() -> int:
    """Raise the soft limit on open files to the hard limit, and return the new soft limit.

    The soft limit is never raised above `USED_MAX`.
    """
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
    """Return the maximum number of files that this process can have open at the same time."""
    return _bounded(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _bounded(value: int) -> int:
    return USED_MAX if value == resource.RLIM_INFINITY else min(value, USED_MAX)


def for_connections() -> int:
    """Return the maximum number of client connections.

    This is the limit on open files minus the descriptors that are reserved for other purposes:
    `RESERVED`, or a quarter of the limit if that is less.
    """
    most = limit()
    return max(1, most - min(RESERVED, most // 4))


def connections_within(wanted: int) -> int:
    """Return `wanted`, limited to the maximum number of client connections."""
    return min(wanted, for_connections())


def ran_out(error: BaseException) -> bool:
    """Return True if a call failed because no file descriptor was free."""
    return isinstance(error, OSError) and error.errno in _USED_UP


def are_used_up() -> bool:
    """Return True if this process currently has no free file descriptor.

    Some libraries report that a file cannot be opened, but not why. This function shows whether a
    lack of descriptors is the reason.
    """
    try:
        descriptor = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return ran_out(error)
    os.close(descriptor)
    return False

"""Access to Linux system calls for which the C library has no function."""

import ctypes
import os
import sys
from typing import Final

_NUMBERS: Final = {
    "x86_64": {
        "ioprio_set": 251,
        "ioprio_get": 252,
        "sched_setattr": 314,
        "sched_getattr": 315,
    },
    "aarch64": {
        "ioprio_set": 30,
        "ioprio_get": 31,
        "sched_setattr": 274,
        "sched_getattr": 275,
    },
    "armv7l": {
        "ioprio_set": 314,
        "ioprio_get": 315,
        "sched_setattr": 380,
        "sched_getattr": 381,
    },
}
"""The numbers of system calls by machine, from asm/unistd.h."""


def call(name: str, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call by name, with integers and buffers as arguments. Return its result.

    Raises:
        OSError: if the call fails, or its number is unknown for this machine.
    """
    machine = os.uname().machine
    # A 32-bit program on a 64-bit kernel uses the numbers of its own architecture.
    if machine == "aarch64" and sys.maxsize < 1 << 32:
        machine = "armv7l"
    if machine not in _NUMBERS:
        raise OSError(f"the number of {name} on {machine} is not known here")
    result = ctypes.CDLL(None, use_errno=True).syscall(_NUMBERS[machine][name], *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)

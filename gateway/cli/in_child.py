"""Work whose memory is given back: it is done in a process of its own."""

import os
import pickle
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

Result = TypeVar("Result")


def in_child(work: Callable[[], Result]) -> Result:
    """Return what `work` returns (it has to be picklable), without the modules that it imports.

    The work is done here where a copy of this process cannot be had or fails, and where there are
    other threads: a copy has none of them, and would wait without end for a lock that one of them
    holds.
    """
    # The kernel's count: libraries start threads that Python does not know.
    if len(os.listdir("/proc/self/task")) > 1:
        return work()
    # What is still buffered would be written by both.
    _flush()
    try:
        read_end, write_end = os.pipe()
        child = os.fork()
    except OSError:
        return work()
    if not child:
        os.close(read_end)
        _work_and_end(work, write_end)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        written = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        return work()
    result: Result = pickle.loads(written)  # noqa: S301 - our own copy wrote it
    return result


def _work_and_end(work: Callable[[], Result], write_end: int) -> NoReturn:
    status = 1
    try:
        written = pickle.dumps(work())
        _flush()
        with open(write_end, "wb") as pipe:
            pipe.write(written)
        status = 0
    finally:
        # Immediately: what this process has opened is its parent's to end.
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()

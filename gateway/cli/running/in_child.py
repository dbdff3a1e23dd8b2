"""Runs a function in a child process, so that the function's memory is freed afterwards.

The parent process can do other work until the child has finished.
"""

import os
import pickle
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

Result = TypeVar("Result")


def in_child(work: Callable[[], Result], meanwhile: Callable[[], None]) -> Result:
    """Run `work` in a child process and return its result, which must be picklable.

    This process runs `meanwhile`, and then waits for the child.

    If this process has other threads, or if the fork or the child fails, `work` runs in this
    process instead. With other threads, a forked child could wait forever for a lock, because the
    thread that held the lock does not exist in the child.
    """
    # Ask the kernel, because Python does not count threads that libraries have started.
    if len(os.listdir("/proc/self/task")) > 1:
        return work()
    # Otherwise both processes would write the buffered output.
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
        meanwhile()
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
        # Exit immediately, without cleaning up what belongs to the parent.
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()

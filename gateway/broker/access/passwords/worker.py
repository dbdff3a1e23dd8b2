"""Worker process that checks passwords, because hashing would block the broker's interpreter.

The worker reads requests from standard input and writes responses to standard output (integers are
big-endian)::

    request   size u32 | a pickle of (hashes, password), `size` bytes long
    answer    one byte per hash: 1 if the password matches and is not empty, otherwise 0

The worker opens no files or connections. Its environment contains only MALLOC_MMAP_THRESHOLD_, and
PYTHONPATH if this variable is set. It unpickles only data from the broker that started it. Its
responses are not pickles. The worker exits when standard input closes, so it never outlives the
broker.
"""

import os
import pickle
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from gateway.broker.access.passwords import argon2_hash
from gateway.process.scheduling import take_usual_turns, yield_to_others

SIZE: Final = struct.Struct(">I")

NICENESS: Final = 5
"""Nice value of a worker, which gives connected clients priority over logins.

On a busy machine, logins must still succeed within `connect_timeout`. With a nice value of 10,
workers got only a hundredth of the CPU.
"""

LOW_PRIORITY: Final = "low-priority"
"""Command line argument of a worker that uses only CPU time that no other process needs."""

OUT_OF_MEMORY_SCORE: Final = 500
"""Out-of-memory score of a worker.

If memory runs out, the kernel kills a worker instead of the broker. Killed workers are restarted.
"""


class PasswordHash(Protocol):
    """Hash of one user's password, in any supported format. Implementations must be picklable."""

    def matches(self, password: bytes) -> bool:
        """Return True if `password` matches this hash.

        The time taken does not depend on the result, so the time reveals nothing about the hash.
        """


def request_of(hashes: Sequence[PasswordHash], password: bytes) -> bytes:
    """Return a request, in the worker's format, to check a password against several hashes."""
    pickled = pickle.dumps((tuple(hashes), password))
    return SIZE.pack(len(pickled)) + pickled


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Read requests, check each password, and write the results to `answers`.

    The function returns at the end of the input.
    """
    while len(size := requests.read(SIZE.size)) == SIZE.size:
        pickled = requests.read(*SIZE.unpack(size))
        hashes, password = pickle.loads(pickled)  # noqa: S301 - our parent wrote it
        # The check of an empty password takes the same time, and always fails.
        answers.write(bytes(each.matches(password) and bool(password) for each in hashes))
        answers.flush()


def main() -> None:
    """Lower this process's priority, then process requests until standard input closes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the broker may still send requests while it stops
    os.nice(NICENESS)
    with suppress(OSError):  # like the broker, if the system allows it
        take_usual_turns()
    if LOW_PRIORITY in sys.argv[1:]:
        with suppress(OSError):  # otherwise the broker's commits would be late
            yield_to_others()
    with suppress(OSError):  # not available on every system
        Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    argon2_hash.Argon2Hash.of("")  # load the library now, before the first client waits
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

"""Worker process that checks passwords: hashing in the broker would block its interpreter.

It reads requests from standard input and writes answers to standard output (integers are
big-endian)::

    request   size u32 | a pickle of (hashes, password), `size` bytes long
    answer    one byte per hash: 1 if it is the password's, else 0; always 0 for an empty password

The worker has only Python's path in its environment, and no files or connections. Pickles are only
sent by the broker that started it, never back. It exits when standard input closes, so it never
outlives the broker.
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

from gateway.access import argon2_hash
from gateway.scheduling import take_usual_turns, take_what_others_leave

SIZE: Final = struct.Struct(">I")

NICENESS: Final = 5
"""Clients that are let in already come first; but a machine that is busy with other things lets
logins in within `connect_timeout` all the same: at 10 they had a hundredth of it."""

GIVES_WAY: Final = "gives-way"
"""The argument of a process that has of the processors only what all others leave."""

OUT_OF_MEMORY_SCORE: Final = 500
"""The kernel ends a worker, which is started again, before the broker that it works for."""


class PasswordHash(Protocol):
    """A picklable hash of one user's password."""

    def holds(self, password: bytes) -> bool:
        """Return True if this is the hash of `password`.

        The result does not affect the time taken.
        """


def request_of(hashes: Sequence[PasswordHash], password: bytes) -> bytes:
    """Return the request to check a password against several hashes."""
    pickled = pickle.dumps((tuple(hashes), password))
    return SIZE.pack(len(pickled)) + pickled


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests in order until the input ends."""
    while len(size := requests.read(SIZE.size)) == SIZE.size:
        pickled = requests.read(*SIZE.unpack(size))
        hashes, password = pickle.loads(pickled)  # noqa: S301 - our parent wrote it
        # The time is the same for an empty password, which is never anyone's.
        answers.write(bytes(each.holds(password) and bool(password) for each in hashes))
        answers.flush()


def main() -> None:
    """Lower this process's scheduling priority and serve requests."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the broker, which may still ask
    os.nice(NICENESS)
    with suppress(OSError):  # the broker's, where the system lets it have them
        take_usual_turns()
    if GIVES_WAY in sys.argv[1:]:
        with suppress(OSError):  # the broker has its commits later then
            take_what_others_leave()
    with suppress(OSError):  # not every system has it
        Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    argon2_hash.Argon2Hash.of("")  # loaded now, and not while the first client waits
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

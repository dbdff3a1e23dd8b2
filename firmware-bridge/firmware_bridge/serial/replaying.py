"""Replays a recording on a pseudo-terminal, which a program can open like a serial port."""

import contextlib
import fcntl
import os
import select
import termios
import time
import tty
from collections.abc import Iterable
from pathlib import Path

from firmware_bridge.serial.recording import Chunk, chunks_of

# Interval at which the terminal is checked for a reader.
OPENED_AGAIN_SECONDS = 0.05
# Longest wait for the reader to read the last bytes before the terminal is closed.
DRAIN_SECONDS_MAX = 5.0
# Number of consecutive checks that must find the terminal empty. Bytes arrive in pieces, with gaps.
EMPTY_LOOKS = 10


class LinkTaken(RuntimeError):
    """Raised if the path for the link already exists. The message is written for the operator."""


def replay_on_terminal(lines: Iterable[bytes], link: Path, *, fast: bool) -> int:
    """Create a pseudo-terminal, wait for a reader, and write the recording to the terminal.

    `link` is created as a symbolic link to the terminal. If `fast` is True, the recorded delays are
    skipped. Return the number of bytes written.

    Raises:
        UnreadableRecording: if a line is invalid. The chunks before this line have been written.
        LinkTaken: if `link` already exists.
    """
    chunks = chunks_of(lines)
    if link.is_symlink() or link.exists():
        raise LinkTaken(f"{link} already exists: remove it, or name another link")
    master, slave = os.openpty()
    name = os.ttyname(slave)
    tty.setraw(slave)
    os.close(slave)
    link.symlink_to(name)
    try:
        _wait_until_opened(master)
        return _write(master, chunks, fast=fast)
    finally:
        _drain(name)
        os.close(master)
        with contextlib.suppress(FileNotFoundError):
            link.unlink()


def _wait_until_opened(master: int) -> None:
    poll = select.poll()
    poll.register(master, select.POLLHUP)
    while poll.poll(0):  # POLLHUP is set until a program opens the other end.
        time.sleep(OPENED_AGAIN_SECONDS)
    # The reader may discard bytes that are received during its opening.
    time.sleep(OPENED_AGAIN_SECONDS)


def _write(master: int, chunks: Iterable[Chunk], *, fast: bool) -> int:
    begun, count = time.monotonic(), 0
    for chunk in chunks:
        if not fast:
            time.sleep(max(0.0, begun + chunk.seconds - time.monotonic()))
        data = chunk.data
        while data:
            written = os.write(master, data)
            data = data[written:]
            count += written
    return count


def _drain(name: str) -> None:
    """Wait until all bytes on the terminal `name` have been read, or until a timeout."""
    deadline = time.monotonic() + DRAIN_SECONDS_MAX
    with contextlib.suppress(OSError):
        slave = os.open(name, os.O_RDWR | os.O_NOCTTY)
        try:
            looks = 0
            while time.monotonic() < deadline and looks < EMPTY_LOOKS:
                waiting = fcntl.ioctl(slave, termios.FIONREAD, b"\0\0\0\0")
                looks = 0 if any(waiting) else looks + 1
                time.sleep(OPENED_AGAIN_SECONDS)
        finally:
            os.close(slave)

"""A recording on a pseudo-terminal, which a program may open as its serial port."""

import contextlib
import fcntl
import os
import select
import termios
import time
import tty
from collections.abc import Iterable
from pathlib import Path

from firmware_bridge.serial.recording import chunks_of

# Seconds between two checks whether the terminal was opened.
OPENED_AGAIN_SECONDS = 0.05
# What was written last is still to be read when we close the terminal.
DRAIN_SECONDS_MAX = 5.0
# The kernel passes it on in a worker: between two pieces nothing is there to be read.
EMPTY_LOOKS = 10


class LinkTaken(RuntimeError):
    """The link is something of another program's: one sentence."""


def replay_on_terminal(lines: Iterable[bytes], link: Path, *, fast: bool) -> int:
    """Make a terminal, wait until it is opened, write the recording; return how many bytes.

    Raises:
        UnreadableRecording: it is none; what came before was written.
        LinkTaken: something else is at `link`.
    """
    if link.is_symlink() or link.exists():
        raise LinkTaken(f"{link} is there already: remove it, or name another link")
    master, slave = os.openpty()
    name = os.ttyname(slave)
    tty.setraw(slave)
    os.close(slave)
    link.symlink_to(name)
    try:
        _wait_until_opened(master)
        return _write(master, lines, fast=fast)
    finally:
        _drain(name)
        os.close(master)
        with contextlib.suppress(FileNotFoundError):
            link.unlink()


def _wait_until_opened(master: int) -> None:
    poll = select.poll()
    poll.register(master, select.POLLHUP)
    while poll.poll(0):  # It hangs up as long as no program has the other end open.
        time.sleep(OPENED_AGAIN_SECONDS)
    # The one that opened it may yet discard what was there before.
    time.sleep(OPENED_AGAIN_SECONDS)


def _write(master: int, lines: Iterable[bytes], *, fast: bool) -> int:
    begun, count = time.monotonic(), 0
    for chunk in chunks_of(lines):
        if not fast:
            time.sleep(max(0.0, begun + chunk.seconds - time.monotonic()))
        data = chunk.data
        while data:
            written = os.write(master, data)
            data = data[written:]
            count += written
    return count


def _drain(name: str) -> None:
    """Wait until the reader has taken what was written, or has closed the terminal."""
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

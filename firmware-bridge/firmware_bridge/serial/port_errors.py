"""Sentences about ports that cannot be opened or used, written for the operator."""

import errno
import os
import termios

from gateway.process.files.disk_errors import line_of

DENIED = "permission denied; add the bridge's user to the group that owns the port"
_LISTED = "`oncegate serial list` prints those that exist"


def sentence_of(path: str, error: Exception) -> str:
    """Return a sentence that describes a port's error and, if possible, explains how to fix it."""
    cause: BaseException = error
    if isinstance(error.__context__, termios.error):
        cause = error.__context__  # pyserial raises an error of its own without the number
    number = cause.args[0] if isinstance(cause, termios.error) else getattr(cause, "errno", None)
    busy = f"{path} is used by another program; stop it, because a port has only one reader"
    no_terminal = f"{path} is not a serial port; {_LISTED}"
    sentences = {
        errno.EACCES: f"{path}: {DENIED}",
        errno.EAGAIN: busy,
        errno.EBUSY: busy,
        errno.ENOENT: f"{path}: no such port; {_LISTED}",
        errno.ENOTTY: no_terminal,
        errno.EISDIR: no_terminal,
        # The message of asyncio contains the address as a tuple.
        errno.ECONNREFUSED: os.strerror(errno.ECONNREFUSED),
    }
    if number in sentences:
        return sentences[number]
    if isinstance(cause, termios.error):
        return f"{path} does not accept the line settings: {cause.args[-1]}"
    return line_of(error) or type(error).__name__

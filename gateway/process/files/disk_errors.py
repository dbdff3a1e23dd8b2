"""Classification and wording of errors from system calls."""

import errno
import re
from typing import Final

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Full disk, quota, table of this process's or of the system's open files. Each may have room
later, and a call that failed with one of them has not changed stored data."""

_UNREADABLE: Final = frozenset(
    {
        errno.EIO,
        errno.EBADMSG,
        errno.EUCLEAN,
        errno.ENODATA,
        errno.EREMOTEIO,
        errno.EILSEQ,
    }
)
"""Read errors caused by the disk: those of the block layer, and of checksums."""


def is_full(error: BaseException) -> bool:
    """Return True if a call failed because the disk, a quota or a file table is full.

    Such a call may be repeated later.
    """
    return isinstance(error, OSError) and error.errno in _FULL


def is_unreadable(error: OSError) -> bool:
    """Return True if the disk could not read the data. Other data may still be readable."""
    return error.errno in _UNREADABLE


_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")


def line_of(error: object) -> str:
    """Return an error's message as one line for people: the file first, without `[Errno 2]`."""
    if isinstance(error, OSError) and error.strerror is not None:
        text = str(error.strerror)
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    else:
        text = str(error)
    return " ".join(without_errno(text).split())


def without_errno(text: str) -> str:
    """Return a message without Python's error numbers."""
    return _ERRNO.sub("", text)

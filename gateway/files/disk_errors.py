"""Classify and word the error of a failed call."""

import errno
import re
from typing import Final

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""The disk, a quota, the open files of this process, those of the system. Each may have room a
while later, and a call that failed with one of them has changed nothing that was stored."""

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
"""Errors of a read that concern the medium: the block layer's, and those of checksums."""


def is_full(error: BaseException) -> bool:
    """Return whether a call was refused because the disk, a quota or a table of open files is
    full: it may be made again later."""
    return isinstance(error, OSError) and error.errno in _FULL


def is_unreadable(error: OSError) -> bool:
    """Return whether the medium did not give bytes back: others may still be read."""
    return error.errno in _UNREADABLE


_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")


def line_of(error: object) -> str:
    """Return an error's message as one line for people: without `[Errno 2]`, its file first."""
    if isinstance(error, OSError) and error.strerror is not None:
        text = str(error.strerror)
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    else:
        text = str(error)
    return " ".join(without_errno(text).split())


def without_errno(text: str) -> str:
    """Return a message without the numbers that Python puts before the system's own words."""
    return _ERRNO.sub("", text)

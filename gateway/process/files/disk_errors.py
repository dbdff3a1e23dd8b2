"""Classifies errors from system calls, and formats them as human-readable messages."""

import errno
import os
import re
from pathlib import Path
from typing import Final

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Error codes for a full disk, quota or table of open files. Each may have room later, and the
failed call has not changed stored data."""

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
"""Error codes for data that the disk cannot read, from the block layer or from checksums."""


def is_full(error: BaseException) -> bool:
    """Return True if a call failed because the disk is full or a limit is reached.

    The limits are a disk quota and the maximum number of open files. The call can succeed later.
    """
    return isinstance(error, OSError) and error.errno in _FULL


def is_unreadable(error: OSError) -> bool:
    """Return True if a disk failed to read some data. Other data might still be readable."""
    return error.errno in _UNREADABLE


_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")


def line_of(error: object) -> str:
    """Return the message of an error as one human-readable line that begins with the path.

    Python's error number, such as `[Errno 2]`, is removed. If the directory of a file is missing,
    the message names the directory.
    """
    if isinstance(error, OSError) and error.strerror is not None:
        text = str(error.strerror)
        if isinstance(error.filename, str | os.PathLike):
            path = Path(error.filename)
            if isinstance(error, FileNotFoundError) and not path.parent.exists():
                text = f"the directory {path.parent} does not exist"
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    else:
        text = str(error)
    return " ".join(without_errno(text).split())


def without_errno(text: str) -> str:
    """Return a message without Python's error numbers, such as `[Errno 2]`."""
    return _ERRNO.sub("", text)

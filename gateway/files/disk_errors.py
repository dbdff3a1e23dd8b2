"""Classify the error of a failed call: the disk is full, or it does not give bytes back."""

import errno
from typing import Final

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

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
    """Return whether a write was refused for want of room, or of quota."""
    return isinstance(error, OSError) and error.errno in _FULL


def is_unreadable(error: OSError) -> bool:
    """Return whether the medium did not give bytes back: others may still be read."""
    return error.errno in _UNREADABLE

"""Errors that end the process: a write failed, or the state may be inconsistent.

Nothing has been acknowledged that is not on disk, which is part of each message to the operator.
"""

from gateway.process.files.disk_errors import line_of


class StoreFailed(OSError):
    """Data to be committed is not on disk. The process has to end."""


def fault_of_writing(what: str, error: BaseException) -> StoreFailed:
    """Return the error for a file that could not be written. `what` is its name."""
    return StoreFailed(
        f"cannot write {what}: {line_of(error)}; nothing that was not on disk has "
        "been acknowledged. Look at the disk (full? read-only? failing?), then start again"
    )


def fault_of_broker(error: BaseException) -> StoreFailed:
    """Return the error for an exception caused by a bug in the broker."""
    return StoreFailed(
        f"a mistake in the broker itself ({type(error).__name__}: {error}); nothing that "
        "was not on disk has been acknowledged. Start again, and report the lines above"
    )

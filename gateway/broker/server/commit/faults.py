"""Errors after which the process must end: failed writes to disk, and bugs in the broker.

Each error message states that only data on disk has been acknowledged.
"""

from gateway.process.files.disk_errors import line_of


class StoreFailed(OSError):
    """Error that ends the process: records cannot be written to disk, or the broker has a bug."""


def fault_of_writing(what: str, error: BaseException) -> StoreFailed:
    """Return the error that ends the process because a file could not be written.

    `what` names the file in the error message, and `error` is the cause.
    """
    return StoreFailed(
        f"cannot write {what}: {line_of(error)}; nothing that was not on disk has "
        "been acknowledged. Look at the disk (full? read-only? failing?), then start again"
    )


def fault_of_broker(error: BaseException) -> StoreFailed:
    """Return the error for an exception that a bug in the broker caused."""
    return StoreFailed(
        f"a mistake in the broker itself ({type(error).__name__}: {error}); nothing that "
        "was not on disk has been acknowledged. Start again, and report the lines above"
    )

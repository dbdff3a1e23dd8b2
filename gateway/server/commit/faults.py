"""What ends the process: something was not written, or the state may be half changed.

Nothing that was not on disk has been acknowledged by then, and each sentence for the operator
contains that.
"""

from gateway.files.disk_errors import line_of


class StoreFailed(OSError):
    """What was to be committed is not on disk; the process has to end."""


def fault_of_writing(what: str, error: BaseException) -> StoreFailed:
    """Return the fault of a file, named `what`, that could not be written."""
    return StoreFailed(
        f"cannot write {what}: {line_of(error)}; nothing that was not on disk has "
        "been acknowledged. Look at the disk (full? read-only? failing?), then start again"
    )


def fault_of_broker(error: BaseException) -> StoreFailed:
    """Return the fault of an exception that is a mistake of our own."""
    return StoreFailed(
        f"a mistake in the broker itself ({type(error).__name__}: {error}); nothing that "
        "was not on disk has been acknowledged. Start again, and report the lines above"
    )

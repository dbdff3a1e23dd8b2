"""Base class of the errors for files that configure access."""


class AccessFileError(Exception):
    """A file that configures access cannot be used.

    The message names it, the problem and the fix.
    """

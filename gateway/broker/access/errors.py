"""Base class for errors in files that configure access."""


class AccessFileError(Exception):
    """Error raised if a file that configures access cannot be used.

    The message names the file, the problem and the fix.
    """

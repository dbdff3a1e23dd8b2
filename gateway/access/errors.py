"""What the files of this room have in common when they cannot be used."""


class AccessFileError(Exception):
    """A file about access cannot be used; the message names it, what is wrong and the mend."""

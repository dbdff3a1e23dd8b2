"""A request at the control socket that cannot be answered."""


class Refused(Exception):
    """Its code, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

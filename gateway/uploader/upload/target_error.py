"""The error that all upload targets raise."""

from __future__ import annotations


class TargetError(Exception):
    """Error raised if the target did not accept a segment.

    The message is a sentence without secrets. `kind` names the cause. Repeated failures with the
    same cause are logged only once.
    """

    def __init__(self, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.kind = kind

"""The one way in which a target fails."""

from __future__ import annotations


class TargetError(Exception):
    """The target did not take a segment. The message is a sentence without secrets; ``kind`` names
    the cause, so that the same cause is logged once."""

    def __init__(self, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.kind = kind

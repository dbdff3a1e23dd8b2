"""Defines a warning in the status, and the subject of warnings about clients."""

from dataclasses import dataclass
from typing import Final

SUBJECT_CHARACTERS_MAX: Final = 200
"""Maximum length of a client identifier in a subject. Client identifiers may have 65,535 bytes."""


@dataclass(frozen=True)
class StatusWarning:
    """A warning in the status, with an explanation and a fix.

    Two warnings can have the same identifier if their subjects differ.
    """

    id: str
    subject: str
    sentence: str
    fix: str


def subject_of_client(client_id: str) -> str:
    """Return the subject of a warning about a client. A long identifier is truncated."""
    return f"client {client_id[:SUBJECT_CHARACTERS_MAX]}"

"""A warning of the status, and the subject of warnings about a client."""

from dataclasses import dataclass
from typing import Final

SUBJECT_CHARACTERS_MAX: Final = 200
"""Characters of a subject, at most: client identifiers may have 65,535 bytes."""


@dataclass(frozen=True)
class StatusWarning:
    """Identifier, subject (distinguishes warnings with one identifier), sentence and fix."""

    id: str
    subject: str
    sentence: str
    fix: str


def subject_of_client(client_id: str) -> str:
    """Return the subject of a warning about a client, at most ``SUBJECT_CHARACTERS_MAX``."""
    return f"client {client_id[:SUBJECT_CHARACTERS_MAX]}"

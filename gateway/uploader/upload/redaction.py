"""Removes secrets from URLs and error messages."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from gateway.uploader.settings import SENTENCE_CHARACTERS_MAX

_SECRET_PARAMETER = re.compile(
    r"(?i)\b((?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|sig|token|key|secret"
    r"|password|authorization)(\"?\s*[=:]\s*\"?)(?:(?:bearer|basic)\s+)?[^\s&\"',;<>)]+"
)
_USER_PART = re.compile(r"//[^/@\s]+@")
_QUERY = re.compile(r"(https?://[^\s?\"']+)\?[^\s\"')]+")


def shown_target(url: str) -> str:
    """Return a URL without user name, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown_error(problem: BaseException | str) -> str:
    """Return a library's error message on one line, truncated and without credentials."""
    # The rest of the message is for the developers of obstore.
    text = " ".join(str(problem).partition("Debug source:")[0].split()) or type(problem).__name__
    text = _QUERY.sub(r"\1?...", _USER_PART.sub("//", text))
    text = _SECRET_PARAMETER.sub(r"\1\2...", text)
    if len(text) > SENTENCE_CHARACTERS_MAX:
        text = text[:SENTENCE_CHARACTERS_MAX] + " ..."
    return text

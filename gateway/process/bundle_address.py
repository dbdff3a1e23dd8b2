"""Validates the address from which an update bundle (a `.raucb` file) is downloaded."""

from typing import Final
from urllib.parse import urlsplit

ADDRESS_CHARACTERS_MAX: Final = 2_000
"""Longest address of a bundle, in characters. Many servers and proxies reject longer ones."""
ADDRESS_ALLOWED: Final = (
    f"an https:// address of a .raucb file, at most {ADDRESS_CHARACTERS_MAX} characters of ASCII, "
    "without a user and a password"
)


def is_bundle_address(text: str) -> bool:
    """Return True if an update bundle may be downloaded from the address `text`.

    It must be an https:// URL of at most `ADDRESS_CHARACTERS_MAX` characters, and must contain
    neither a user name nor a password.
    """
    if len(text) > ADDRESS_CHARACTERS_MAX or not all("!" <= each <= "~" for each in text):
        return False
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return text.startswith("https://") and has_host and "@" not in parts.netloc

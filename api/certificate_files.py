"""The page's certificate files and their loader: settings of the API.

The program that starts the page imports this before it has read its command line, so nothing
heavy is imported here.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class CertificateUnusable(Exception):
    """The certificate cannot be used. The message names the file, the problem and the fix."""


@dataclass(frozen=True)
class UsableCertificate:
    """A loaded certificate."""

    context: ssl.SSLContext
    warning_at: Callable[[float], str | None]
    """The warning that it ends soon or has ended, as a sentence, at a time in seconds since
    1970."""
    subject: str
    not_after: float
    """Seconds since 1970."""


@dataclass(frozen=True)
class CertificateFiles:
    """Certificate files and their loader, which raises CertificateUnusable."""

    paths: tuple[Path, ...]
    load: Callable[[], UsableCertificate]

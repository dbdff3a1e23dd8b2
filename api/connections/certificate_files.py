"""Types for the web page's TLS certificate: its files, and the result of loading them.

The command that starts the page imports this module before it parses the command line. This module
imports only small modules, so that the command starts quickly.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class CertificateUnusable(Exception):
    """Error that is raised if a certificate cannot be used.

    The message names the file, the problem and the fix.
    """


@dataclass(frozen=True)
class UsableCertificate:
    """A loaded certificate and its TLS context."""

    context: ssl.SSLContext
    warning_at: Callable[[float], str | None]
    """Function that returns a sentence if the certificate expires soon or has expired, else None.

    Its argument is the present time in seconds since 1970.
    """
    subject: str
    not_after: float
    """Time at which the certificate expires, in seconds since 1970."""


@dataclass(frozen=True)
class CertificateFiles:
    """Paths of the certificate files, and a function that loads them.

    `load` raises CertificateUnusable if the files cannot be used.
    """

    paths: tuple[Path, ...]
    load: Callable[[], UsableCertificate]

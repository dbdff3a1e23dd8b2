"""The web page's TLS certificate, which is loaded at startup and again when its files change.

The program that starts the page provides the function that loads the files. The broker's listeners
use the same function. If new files cannot be used, the page keeps its current certificate and shows
a warning. If the certificate expires soon, the page also shows a warning, and logs it once a day.
"""

import logging
import ssl
import time
from typing import Final

from api.connections.certificate_files import CertificateFiles, CertificateUnusable
from api.models.broker import Certificate
from gateway.process.files.file_state import states_of

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 60.0
"""Seconds between two checks of the files. certbot renews them without informing other programs."""

SETTLE_SECONDS: Final = 2.0
"""Seconds for which neither the certificate nor the key may change before both files are read."""


WARNINGS_SECONDS: Final = 86_400.0
"""Seconds between two log lines that warn about a certificate that expires soon."""


DAY_SECONDS: Final = 86_400


class ServedCertificate:
    """The TLS certificate for new connections. Times are in seconds on a monotonic clock."""

    def __init__(self, files: CertificateFiles) -> None:
        """Load the certificate files. Raises CertificateUnusable if they cannot be used."""
        self._files: Final = files
        self._tried = states_of(files.paths)
        self._settling: object = None
        self._due = float("-inf")
        self._warned = float("-inf")
        self._unused: str | None = None
        self._usable = files.load()

    @property
    def context(self) -> ssl.SSLContext:
        """The TLS context for a new connection."""
        return self._usable.context

    @property
    def problem(self) -> str | None:
        """The problem with the certificate, or None if there is no problem.

        The problem is either that new files cannot be used, or that the certificate expires soon.
        """
        return self._unused or self._usable.warning_at(time.time())

    @property
    def state(self) -> Certificate:
        """The certificate's subject, expiry and problems.

        The certificates of the broker's listeners are described by the same type.
        """
        not_after = self._usable.not_after
        return Certificate(
            subject=self._usable.subject,
            not_after_ms=int(not_after * 1000),
            days_left=int((not_after - time.time()) // DAY_SECONDS),
            problem=self.problem,
            unused=self._unused is not None,
        )

    def check(self, now: float) -> None:
        """Reload the certificate files if they have changed. Log the daily warning if it is due.

        Changed files are loaded only after they have stopped changing, because a program could
        still be writing them.
        """
        if now < self._due:
            return
        self._due = now + CHECK_SECONDS
        self._warn(now)
        found = states_of(self._files.paths)
        if found == self._tried:
            return
        if found != self._settling:
            self._settling = found
            self._due = now + SETTLE_SECONDS
            return
        self._tried = found
        try:
            self._usable, self._unused = self._files.load(), None
        except CertificateUnusable as error:
            self._unused = f"the page's certificate stays as it was: {error}"
            logger.error("%s", self._unused)
        else:
            logger.info("%s was replaced: new connections have it", self._files.paths[0])

    def _warn(self, now: float) -> None:
        warning = self._usable.warning_at(time.time())
        if warning is not None and now - self._warned >= WARNINGS_SECONDS:
            self._warned = now
            logger.warning("%s", warning)

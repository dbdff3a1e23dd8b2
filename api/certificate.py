"""The certificate of the page, as long as it serves: read at the start, and again when it changes.

What makes a context of the files, and refuses what is no use, is given by who starts the page: it
is the same as for the broker's listeners. Files that cannot be used change nothing. What is wrong,
or will be soon, is a line in the log each day, and a notice on the page.
"""

import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.files.file_state import states_of

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 60.0
"""How often the files are looked at: certbot renews by itself, and informs no other program."""

SETTLE_SECONDS: Final = 2.0
"""Certificate and key are two files: read once neither changes any more."""


WARNINGS_SECONDS: Final = 86_400.0
"""A certificate that ends soon is warned of once a day."""


class CertificateUnusable(Exception):
    """The message names the file, what is wrong and the mend."""


@dataclass(frozen=True)
class UsableCertificate:
    """What can be served with."""

    context: ssl.SSLContext
    warning_at: Callable[[float], str | None]
    """That it ends soon, or has ended: a sentence, at a time in seconds since 1970."""


@dataclass(frozen=True)
class CertificateFiles:
    """Files, and what reads them; it raises CertificateUnusable."""

    paths: tuple[Path, ...]
    load: Callable[[], UsableCertificate]


class ServedCertificate:
    """What new connections have; times are seconds of one monotonic clock."""

    def __init__(self, files: CertificateFiles) -> None:
        """Read the files. Raises CertificateUnusable."""
        self._files: Final = files
        self._tried = states_of(files.paths)
        self._settling: object = None
        self._due = float("-inf")
        self._warned = float("-inf")
        self._unused: str | None = None
        self._usable = files.load()

    @property
    def context(self) -> ssl.SSLContext:
        """For a new connection."""
        return self._usable.context

    @property
    def problem(self) -> str | None:
        """Why the files that are there now are not used, or that what is used ends soon."""
        return self._unused or self._usable.warning_at(time.time())

    def look(self, now: float) -> None:
        """Read the files where they have changed, once they change no more."""
        if now < self._due:
            return
        self._due = now + LOOK_SECONDS
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

"""The certificate of the page, as long as it serves: read at the start, and again when it changes.

What makes a context of the files, and refuses what is no use, is given by who starts the page: it
is the same as for the broker's listeners. Files that cannot be used change nothing.
"""

import logging
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 60.0
"""How often the files are looked at: certbot renews by itself, and informs no other program."""

SETTLE_SECONDS: Final = 2.0
"""Certificate and key are two files: read once neither changes any more."""


class CertificateUnusable(Exception):
    """The message names the file, what is wrong and the mend."""


@dataclass(frozen=True)
class CertificateFiles:
    """Files, and what makes a context of them; it raises CertificateUnusable."""

    paths: tuple[Path, ...]
    load: Callable[[], ssl.SSLContext]


class ServedCertificate:
    """What new connections have; times are seconds of one monotonic clock."""

    def __init__(self, files: CertificateFiles) -> None:
        """Read the files. Raises CertificateUnusable."""
        self._files: Final = files
        self._signature = _signature_of(files.paths)
        self._settling: object = None
        self._due = float("-inf")
        self.context = files.load()

    def look(self, now: float) -> None:
        """Read the files where they have changed, once they change no more."""
        if now < self._due:
            return
        self._due = now + LOOK_SECONDS
        signature = _signature_of(self._files.paths)
        if signature == self._signature:
            return
        if signature != self._settling:
            self._settling = signature
            self._due = now + SETTLE_SECONDS
            return
        self._signature = signature
        try:
            self.context = self._files.load()
        except CertificateUnusable as error:
            logger.error("the page's certificate stays as it was: %s", error)
        else:
            logger.info("%s was replaced: new connections have it", self._files.paths[0])


def _signature_of(paths: tuple[Path, ...]) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(map(_stat_of, paths))


def _stat_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino

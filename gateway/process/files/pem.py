"""Certificates in PEM files, for comparing two files or two versions of one.

Nothing is verified here. OpenSSL does that at every handshake.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 1 << 20
"""File size, at most: a chain has a few kilobytes, and the authorities of the whole web 200."""

_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----(.*?)-----END \1-----", re.DOTALL
)


def digests_in(content: bytes) -> frozenset[bytes]:
    """Return the SHA-256 of each certificate in a PEM text. Invalid blocks are ignored."""
    return frozenset(
        hashlib.sha256(encoded).digest()
        for _, block in _CERTIFICATE.findall(content)
        if (encoded := _der_of(block)) is not None
    )


def certificates_in(path: Path) -> frozenset[bytes]:
    """Return the SHA-256 of each certificate in a file.

    Empty for an unreadable file, which the code that uses the file reports.
    """
    try:
        with path.open("rb") as file:
            return digests_in(file.read(FILE_BYTES_MAX))
    except OSError:
        return frozenset()


def _der_of(block: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(block.split()), validate=True)
    except binascii.Error:
        return None

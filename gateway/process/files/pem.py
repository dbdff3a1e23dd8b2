"""Digests of the certificates in PEM files, which show whether files differ or have changed.

This module does not verify certificates. OpenSSL verifies them during each handshake.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 1 << 20
"""Maximum bytes read from a file. A certificate chain has a few kB, and a file of all public
certificate authorities 200 kB."""

_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----(.*?)-----END \1-----", re.DOTALL
)


def digests_in(content: bytes) -> frozenset[bytes]:
    """Return the SHA-256 digest of each certificate in a PEM text. Invalid blocks are ignored."""
    return frozenset(
        hashlib.sha256(encoded).digest()
        for _, block in _CERTIFICATE.findall(content)
        if (encoded := _der_of(block)) is not None
    )


def certificates_in(path: Path) -> frozenset[bytes]:
    """Return the SHA-256 digest of each certificate in a PEM file.

    The result is empty if the file cannot be read. Code that uses the certificates reports the
    error.
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

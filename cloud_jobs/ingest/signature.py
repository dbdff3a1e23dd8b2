"""Checks the signature in a segment's footer (docs/formats/session-log.md, "Signature").

The signature uses Ed25519 (RFC 8032). The signed text is ASCII and has six lines, each of which
ends with a line feed. The first line is always the same. The others contain these values::

    oncegate-session-log-signature-1
    <gateway>
    <segment number>
    <first sequence number>
    <last sequence number>
    <SHA-256 of the lines before the footer>
"""

from __future__ import annotations

import re
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from cloud_jobs.ingest.frame import UntrustedSegmentError
from cloud_jobs.ingest.segment_name import SegmentName

PUBLIC_KEY: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_SIGNATURE: Final = re.compile(r"[0-9a-f]{128}\Z", re.ASCII)


def signer_of(footer: dict[str, object], name: SegmentName, lines_sha256: str) -> str | None:
    """Return the public key that signed a segment, or None if the footer has no signature.

    Raises UntrustedSegmentError if the signature is not valid for this segment.
    """
    if "public_key" not in footer and "signature" not in footer:
        return None
    public_key, signature = footer.get("public_key"), footer.get("signature")
    if not isinstance(public_key, str) or not PUBLIC_KEY.match(public_key):
        raise _bad("the footer's `public_key` is not 64 hexadecimal digits")
    if not isinstance(signature, str) or not _SIGNATURE.match(signature):
        raise _bad("the footer's `signature` is not 128 hexadecimal digits")
    signed = (
        f"oncegate-session-log-signature-1\n{name.gateway}\n{name.segment}\n"
        f"{name.first_sequence}\n{name.last_sequence}\n{lines_sha256}\n"
    )
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), signed.encode("ascii"))
    except (InvalidSignature, ValueError):  # ValueError: the key is not a point of the curve
        raise _bad(f"it is not signed by {public_key}, the key that it names") from None
    return public_key


def _bad(detail: str) -> UntrustedSegmentError:
    return UntrustedSegmentError(
        "bad_signature", f"{detail}: land the gateway's own copy of it, from log/sent/"
    )

"""The Ed25519 signature (RFC 8032) in a segment's footer.

The signed data is six lines of ASCII text, each with a line end (docs/formats/session-log.md)::

    oncegate-session-log-signature-1
    <gateway>
    <segment>
    <first sequence>
    <last sequence>
    <sha256 of all lines before the footer, 64 hexadecimal digits>

The hash includes the header with boot, store and the SHA-256 of the previous segment. Therefore a
signature covers the whole chain up to its segment. Because of the first line, a signature that was
made for other data is never valid for a segment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PREFIX: Final = "oncegate-session-log-signature-1"

SEED_BYTES: Final = 32
"""Length of the seed of a private key (RFC 8032, section 5.1.5)."""

# Lower case only, so that a footer has exactly one form.
_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


class BadSignature(ValueError):
    """Error raised if the signature in a footer is not valid for its segment.

    The message states the reason.
    """


@dataclass(frozen=True, slots=True)
class SignedPart:
    """The properties of a segment that its signature covers."""

    gateway: str
    segment: int
    first_sequence: int
    last_sequence: int
    sha256: str

    def signed_bytes(self) -> bytes:
        """Return the bytes that are signed."""
        numbers = (self.segment, self.first_sequence, self.last_sequence)
        lines = (PREFIX, self.gateway, *map(str, numbers), self.sha256)
        return "".join(f"{line}\n" for line in lines).encode("ascii")


class Signer:
    """Signs segments with a private key. The key never leaves the process."""

    def __init__(self, seed: bytes) -> None:
        """Derive the private key from a seed of SEED_BYTES random bytes."""
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw().hex()
        """The public key as 64 hexadecimal digits."""

    def signature_of(self, part: SignedPart) -> str:
        """Return the signature of a segment as 128 hexadecimal digits."""
        return self._key.sign(part.signed_bytes()).hex()


def is_public_key(text: str) -> bool:
    """Return True if a string has the format of a public key."""
    return _PUBLIC_KEY.fullmatch(text) is not None


def signer_of(footer: dict[str, object], part: SignedPart) -> str | None:
    """Return the public key that signed a segment, or None if its footer has no signature.

    Raises:
        BadSignature: if the signature is not valid for this segment.
    """
    if "public_key" not in footer and "signature" not in footer:
        return None
    public_key, signature = footer.get("public_key"), footer.get("signature")
    if not isinstance(public_key, str) or not is_public_key(public_key):
        raise BadSignature("footer: public_key is not 64 hexadecimal digits")
    if not isinstance(signature, str) or _SIGNATURE.fullmatch(signature) is None:
        raise BadSignature("footer: signature is not 128 hexadecimal digits")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), part.signed_bytes())
    except (InvalidSignature, ValueError):  # the second: bytes that are not a point of the curve
        raise BadSignature(
            f"the signature is not one of the key {public_key} for this segment"
        ) from None
    return public_key

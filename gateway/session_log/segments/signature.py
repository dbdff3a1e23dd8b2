"""The signature in a segment's footer: Ed25519 (RFC 8032), once a segment.

Signed is ASCII text of six lines, each with its line end (docs/formats/session-log.md)::

    oncegate-session-log-signature-1
    <gateway>
    <segment>
    <first sequence>
    <last sequence>
    <sha256 of all lines before the footer, 64 hexadecimal digits>

The hash covers the header, and so boot, store and the sha256 of the segment before: a signature
vouches for the chain that leads to its segment. The first line keeps a signature of anything else
from being one of a segment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PREFIX: Final = "oncegate-session-log-signature-1"

SEED_BYTES: Final = 32
"""Of a private key (RFC 8032, section 5.1.5)."""

# Lower case only: a footer has one way to be written.
_PUBLIC_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


class BadSignature(ValueError):
    """A footer's signature does not hold for its segment; the message names the reason."""


@dataclass(frozen=True, slots=True)
class SignedPart:
    """What a signature vouches for."""

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
    """A private key, which never leaves the process."""

    def __init__(self, seed: bytes) -> None:
        """Make the key of a seed of SEED_BYTES random bytes."""
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes_raw().hex()
        """64 hexadecimal digits."""

    def signature_of(self, part: SignedPart) -> str:
        """Return the signature, 128 hexadecimal digits."""
        return self._key.sign(part.signed_bytes()).hex()


def is_public_key(text: str) -> bool:
    """Return whether a text has the form of a public key."""
    return _PUBLIC_KEY.fullmatch(text) is not None


def signer_of(footer: dict[str, object], part: SignedPart) -> str | None:
    """Return the public key that signed a segment, None where its footer has no signature.

    Raises:
        BadSignature: there is one, and it does not hold for this segment.
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
    except (InvalidSignature, ValueError):  # the second: bytes that are no point of the curve
        raise BadSignature(
            f"the signature is not one of the key {public_key} for this segment"
        ) from None
    return public_key

"""Encrypted messages from meters, and the meters' keys (DLMS general-glo-ciphering, AES-GCM)::

    DB | 08 | system title (8 bytes) | length | security u8 | frame counter u32 | ciphertext | tag

The length counts all bytes after the length field. The nonce consists of the system title and the
frame counter. The tag is optional. It has 12 bytes and covers the ciphertext, the security byte and
the authentication key. Source: DLMS UA 1000-2, section 9.2.7.
Austrian, Swiss and Danish meters send encrypted messages, and so do meters in Luxembourg on their
P1 port.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Self

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.key_files import KEY_PATH, key_from
from gateway.process.declarations.quantities import refusal
from gateway.process.declarations.section import NO_KEY

CIPHERED: Final = 0xDB
SYSTEM_TITLE_BYTES: Final = 8
_SECURITY_BYTES, _TAG_BYTES = 5, 12
_AUTHENTICATED, _ENCRYPTED, _COMPRESSED = 0x10, 0x20, 0x80
_FIRST_COUNTER = (2).to_bytes(4)
KEY_DESCRIPTIONS: Final = {
    "key_file": "File with the encryption key of the meter: 32 hexadecimal digits.",
    "authentication_key_file": "File with the authentication key of the meter, if it has one.",
}


@dataclass(frozen=True, kw_only=True)
class MeterKeys(DecoderSettings):
    """Base class for the settings of protocols whose meters can encrypt their messages.

    The settings name the files with the keys. The keys are secret, so they are loaded only when
    they are needed.
    """

    key_file: Annotated[str, KEY_PATH] | None = None
    authentication_key_file: Annotated[str, KEY_PATH] | None = None
    key: bytes | None = field(default=None, repr=False, metadata=NO_KEY)
    authentication_key: bytes | None = field(default=None, repr=False, metadata=NO_KEY)

    def check(self) -> None:
        """Reject an authentication key without an encryption key."""
        super().check()
        if self.authentication_key_file is not None and self.key_file is None:
            raise refusal(
                "key_file with authentication_key_file: key_file has the key that decrypts"
            )

    def with_secrets(self, first_line_of: Callable[[str, str], str]) -> Self:
        """Return a copy of the settings with the keys loaded from their files.

        `first_line_of` returns the first line of a file.

        Raises:
            ValueError: if a file does not contain a key.
        """
        found: dict[str, Any] = {}
        for name in ("key", "authentication_key"):
            path = getattr(self, f"{name}_file")
            if path is not None:
                found[name] = key_from(path, f"{name}_file", first_line_of)
        return replace(self, **found)


def ciphered_bytes(data: bytes) -> int | None:
    """Return the length of a ciphered message, or None if its length field is incomplete.

    Raises:
        Damaged: with reason "dlms" if the data is not a ciphered message.
    """
    head = 2 + SYSTEM_TITLE_BYTES
    if len(data) < 2:
        return None
    if data[0] != CIPHERED or data[1] != SYSTEM_TITLE_BYTES:
        raise Damaged("dlms")
    found = length_at(data, head)
    return None if found is None else found[1] + found[0]


def length_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Parse a length field.

    Return the length and the position after the field, or None if the field is incomplete.

    Raises:
        Damaged: with reason "dlms" if the length has more than 2 bytes.
    """
    if at >= len(data):
        return None
    first = data[at]
    if first < 0x80:
        return first, at + 1
    size = first & 0x7F
    if not 1 <= size <= 2:
        raise Damaged("dlms")
    if at + 1 + size > len(data):
        return None
    return int.from_bytes(data[at + 1 : at + 1 + size]), at + 1 + size


def decrypted(data: bytes, key: bytes | None, authentication_key: bytes | None) -> bytes:
    """Decrypt a ciphered message and return its content.

    The authentication tag is only checked if an authentication key is given. Otherwise, a wrong key
    is not detected here, but the decrypted content will be invalid.

    Raises:
        Damaged: with reason "encrypted" if there is no key, "key" if the tag does not match the
            keys, or "dlms" if the message is invalid.
    """
    found = length_at(data, 2 + SYSTEM_TITLE_BYTES)
    if found is None or len(data) < found[1] + _SECURITY_BYTES:
        raise Damaged("dlms")
    length, at = found
    security, counter = data[at], data[at + 1 : at + _SECURITY_BYTES]
    content = data[at + _SECURITY_BYTES : at + length]
    if security & _COMPRESSED or not security & _ENCRYPTED:
        raise Damaged("dlms")
    if key is None:
        raise Damaged("encrypted")
    tag = b""
    if security & _AUTHENTICATED:
        content, tag = content[:-_TAG_BYTES], content[-_TAG_BYTES:]
        if len(tag) < _TAG_BYTES:
            raise Damaged("dlms")
    nonce = data[2 : 2 + SYSTEM_TITLE_BYTES] + counter
    if tag and authentication_key is not None:
        return _checked(content, tag, key, nonce, bytes((security,)) + authentication_key)
    return _unchecked(content, key, nonce)


def _checked(content: bytes, tag: bytes, key: bytes, nonce: bytes, covered: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.algorithms import AES  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.modes import GCM  # noqa: PLC0415

    decryptor = Cipher(AES(key), GCM(nonce, tag, min_tag_length=_TAG_BYTES)).decryptor()
    decryptor.authenticate_additional_data(covered)
    try:
        return decryptor.update(content) + decryptor.finalize()
    except InvalidTag:
        raise Damaged("key") from None


def _unchecked(content: bytes, key: bytes, nonce: bytes) -> bytes:
    """Decrypt the content without checking its tag.

    AES-GCM encrypts in the same way as AES in CTR mode with a block counter that begins at 2.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.algorithms import AES  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.modes import CTR  # noqa: PLC0415

    decryptor = Cipher(AES(key), CTR(nonce + _FIRST_COUNTER)).decryptor()
    return decryptor.update(content) + decryptor.finalize()

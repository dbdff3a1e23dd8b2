"""Encrypted M-Bus telegrams (EN 13757-7 mode 5, security profile A of OMS: AES-128-CBC).

The last two bytes of the header are a little-endian word. Bits 8 to 12 contain the mode, and bits 4
to 7 contain the number of encrypted blocks of 16 bytes. Bytes after these blocks are not encrypted.
The initialization vector consists of the header's maker, number, version and medium, followed by
eight copies of the access number. Decrypted data begins with two filler bytes, which show that the
key is right.
"""

from typing import Final

from firmware_bridge.protocols.frame import Damaged

MODE: Final = 5
_UNUSED: Final = 0xFFFF
_BLOCK_BYTES: Final = 16
_VERIFICATION: Final = b"\x2f\x2f"


def decrypted(header: bytes, data: bytes, key: bytes | None) -> bytes:
    """Decrypt the values in `data`. Values that are not encrypted are returned unchanged.

    `header` contains the 12 bytes before the values. Meters from the time before encryption may
    fill the word with ones (Aquametro CALEC MB).

    Raises:
        Damaged: with reason "encrypted" if there is no key or the mode is not supported, "key" if
            the key does not belong to this meter, or "length" if the telegram is shorter than its
            encrypted blocks.
    """
    word = int.from_bytes(header[10:12], "little")
    mode, size = word >> 8 & 0x1F, (word >> 4 & 0x0F) * _BLOCK_BYTES
    if mode == 0 or word == _UNUSED:
        return data
    if mode != MODE or key is None:
        raise Damaged("encrypted")
    if not _BLOCK_BYTES <= size <= len(data):
        raise Damaged("length")
    vector = header[4:6] + header[:4] + header[6:8] + header[8:9] * 8
    plain = _cbc(data[:size], key, vector)
    if not plain.startswith(_VERIFICATION):
        raise Damaged("key")
    return plain + data[size:]


def _cbc(data: bytes, key: bytes, vector: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.algorithms import AES  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.modes import CBC  # noqa: PLC0415

    decryptor = Cipher(AES(key), CBC(vector)).decryptor()
    return decryptor.update(data) + decryptor.finalize()

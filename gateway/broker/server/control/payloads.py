"""Creates previews of payloads: the first bytes, as a string or as hexadecimal digits."""

import codecs
from typing import Any, Final

PAYLOAD_BYTES_SHOWN: Final = 256
"""Number of bytes in the preview of a UTF-8 payload: a reading, or enough of a document to
recognise it. A list of 500 topics is then smaller than the longest answer."""
BINARY_BYTES_SHOWN: Final = 32
"""Number of bytes in the hexadecimal preview of a payload that is not UTF-8."""


def payload_of(start: bytes, size_bytes: int) -> dict[str, Any]:
    """Return the preview of a payload: an object with the keys `text`, `hex` and `bytes`.

    `text` contains the start of a UTF-8 payload. For any other payload, `hex` contains the first
    bytes as hexadecimal digits. The key that does not apply is None. `bytes` is the size of the
    whole payload.

    Args:
        start: the whole payload, or at least its first PAYLOAD_BYTES_SHOWN bytes.
        size_bytes: size of the whole payload.
    """
    is_whole = size_bytes <= PAYLOAD_BYTES_SHOWN
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        # The last character may be cut.
        text = decoder.decode(start[:PAYLOAD_BYTES_SHOWN], final=is_whole)
    except UnicodeDecodeError:
        return {"text": None, "hex": start[:BINARY_BYTES_SHOWN].hex(), "bytes": size_bytes}
    return {"text": text, "hex": None, "bytes": size_bytes}

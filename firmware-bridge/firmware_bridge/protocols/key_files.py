"""Reads the key for a meter's encrypted messages from the first line of a file.

The key has 32 hexadecimal digits.
"""

import os
import re
from collections.abc import Callable
from typing import Final

from gateway.process.declarations.quantities import Text

KEY_PATH: Final = Text(r"[^\x00]{1,4096}", "a path, as a text in quotes")
_KEY = re.compile(r"[0-9A-Fa-f]{32}", re.ASCII)


def key_from(path: str, name: str, first_line_of: Callable[[str, str], str]) -> bytes:
    """Return the 16-byte key in the file `path`.

    `name` is the configuration key that contains the file's path. Spaces, colons and dashes between
    the digits are ignored.

    Raises:
        ValueError: if the file does not contain a key.
    """
    digits = re.sub(r"[ :-]", "", first_line_of(os.path.expanduser(path), name))
    if _KEY.fullmatch(digits) is None:
        raise ValueError(f"{path}: use 32 hexadecimal digits, the key that the grid operator gives")
    return bytes.fromhex(digits)

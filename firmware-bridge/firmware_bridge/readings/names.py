"""Checks the names of quantities that sensors send.

The same rule applies to names in the configuration.
"""

import re

from gateway.process.declarations.names import NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return True if a device or a quantity can have this name."""
    return _NAME.fullmatch(text) is not None

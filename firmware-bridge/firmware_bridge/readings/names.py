"""The names that sensors give their quantities, checked as those of the configuration are."""

import re

from gateway.process.declarations.names import NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether a device or a quantity may have this name."""
    return _NAME.fullmatch(text) is not None

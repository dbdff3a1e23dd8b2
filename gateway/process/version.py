"""The version number of this installation.

The name of the package's metadata directory contains the version, so importlib.metadata is not
needed. Its modules would take 1.5 MB of memory in the broker and in the bridge. The status page
needs them anyway, because pydantic imports them.
"""

import sys
from pathlib import Path
from typing import Final

_NAME: Final = "oncegate-"
_SUFFIX: Final = ".dist-info"


def installed_version() -> str:
    """Return the version number, like `0.1.0`."""
    for directory in sys.path:
        for found in Path(directory).glob(f"{_NAME}*{_SUFFIX}"):
            return found.name.removeprefix(_NAME).removesuffix(_SUFFIX)
    from importlib.metadata import version  # noqa: PLC0415 - rare, and large

    return version("oncegate")

"""Imports the library sqlite-utils, but prevents it from importing pandas and numpy.

sqlite-utils creates and migrates database tables. It would import pandas and numpy if they are
installed. The cloud jobs need both packages, but the gateway does not. Importing them takes half a
second of CPU time and 100 MB of memory.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NOT_FOR_TABLES: Final = ("pandas", "numpy")


@contextmanager
def _absent(names: tuple[str, ...]) -> Iterator[None]:
    """Context manager that makes imports of the modules `names` fail.

    The modules appear not to be installed, except those that are already loaded.
    """
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # what `import` takes for absent
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with _absent(NOT_FOR_TABLES):
    from sqlite_utils import Database, Migrations

__all__ = ["Database", "Migrations"]

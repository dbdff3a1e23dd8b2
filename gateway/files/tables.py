"""What makes and migrates tables: sqlite-utils, without pandas and numpy.

Where they are installed, as beside the cloud jobs, sqlite-utils imports both to know their types
as columns: half a second of a processor and 100 MB, for types that no table of ours has.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NOT_FOR_TABLES: Final = ("pandas", "numpy")


@contextmanager
def _absent(names: tuple[str, ...]) -> Iterator[None]:
    """Let imports of these modules fail, unless they have been imported already."""
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

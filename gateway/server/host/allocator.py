"""What the C library may keep of memory that was freed."""

import ctypes
from typing import Final

LARGE_BLOCK_BYTES: Final = 8 << 20
"""Blocks from this size on are mappings of their own, which go back when they are freed. A password
check takes 19 MiB; what the broker itself takes and frees all the time is smaller."""

FREE_TOP_BYTES_MAX: Final = 1 << 20
"""Free memory at the end of the heap that is kept for the next."""

# <malloc.h> of glibc
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


def return_large_blocks() -> None:
    """Keep glibc from raising the size of the blocks that it keeps.

    It raises its threshold to the largest block that was freed: from the second password check on,
    each thread that makes them would keep 19 MiB until the process ends. mallopt(3); other C
    libraries have no such threshold.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        mallopt(_M_TRIM_THRESHOLD, FREE_TOP_BYTES_MAX)

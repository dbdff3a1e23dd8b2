"""Memory of the machine, or of the container that the broker runs in."""

import os
from pathlib import Path
from typing import Final

CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""A container sees its own control group at this place."""


def memory_bytes(limit_file: Path = CGROUP_LIMIT) -> int:
    """Return how much memory there is, or how much the control group allows."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = limit_file.read_text().strip()
    except OSError:
        return total  # no control groups, or none that is limited
    return min(total, int(limit)) if limit.isdecimal() else total

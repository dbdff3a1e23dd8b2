"""The resource usage of a process, read from /proc: CPU time, memory, and bytes written to disk."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resource usage of a process.

    `written_bytes` is the number of bytes written to disk, or None if /proc does not show this
    number. /proc hides this number for other users' processes.
    """

    cpu_seconds: float
    rss_bytes: int
    rss_bytes_max: int
    written_bytes: int | None


def usage_of(pid: int) -> Usage:
    """Read the resource usage of a process from /proc.

    Raises ProcessLookupError if the process does not exist.
    """
    directory = Path("/proc", str(pid))
    if not directory.exists():
        raise ProcessLookupError("there is no such process (any more)")
    # The name in brackets may contain spaces.
    fields = (directory / "stat").read_text().rpartition(")")[2].split()
    status = _pairs_of((directory / "status").read_text())
    try:
        written = int(_pairs_of((directory / "io").read_text())["write_bytes"])
    except PermissionError:
        written = None
    return Usage(
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND,
        rss_bytes=1024 * int(status["VmRSS"].split()[0]),
        rss_bytes_max=1024 * int(status["VmHWM"].split()[0]),
        written_bytes=written,
    )


def _pairs_of(text: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

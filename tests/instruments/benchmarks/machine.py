"""The machine of a benchmark, as far as it affects the figures."""

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.brokers import MOSQUITTO


def machine_of(data_directory: Path) -> dict[str, Any]:
    """Return names and sizes, but nothing that identifies the machine's owner."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": _system(),
        "kernel": platform.release(),
        "file_system": _file_system_of(data_directory),
        "python": platform.python_version(),
        "mosquitto": _mosquitto_version(),
        # The load of other programs in the minute before.
        "load_average": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text()
    match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1] if match else platform.machine()


def _system() -> str:
    release = platform.freedesktop_os_release()
    return release.get("PRETTY_NAME", "unknown")


def _file_system_of(directory: Path) -> str:
    outcome = subprocess.run(
        ["findmnt", "-no", "FSTYPE", "-T", directory], check=True, capture_output=True, text=True
    )
    # If several file systems are mounted on one path, there is one line for each.
    return outcome.stdout.split()[0]


def _mosquitto_version() -> str:
    outcome = subprocess.run([MOSQUITTO, "-h"], check=False, capture_output=True, text=True)
    match = re.search(r"version (\S+)", outcome.stdout)
    return match[1] if match else "unknown"

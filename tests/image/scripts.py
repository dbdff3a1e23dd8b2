"""Checks for every shell script of the image, the package and the container."""

import subprocess
from pathlib import Path


def check_script(script: Path) -> None:
    """Check that a script is executable, is written for `sh`, stops at the first failed command,
    and parses."""
    assert script.stat().st_mode & 0o111
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text
    subprocess.run(["sh", "-n", script], check=True, timeout=60)

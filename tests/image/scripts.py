"""What every shell script of the image, the package and the container has to be."""

import subprocess
from pathlib import Path


def check_script(script: Path) -> None:
    """It is executable, is one for `sh`, ends at the first mistake, and parses."""
    assert script.stat().st_mode & 0o111
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text
    subprocess.run(["sh", "-n", script], check=True, timeout=60)

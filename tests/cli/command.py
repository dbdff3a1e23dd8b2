"""The command as a person at a terminal starts it: a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def oncegate(
    *arguments: object, directory: Path, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_")}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        input=stdin,
        timeout=60,
        cwd=directory,
        env=inherited | {"COLUMNS": "100", "NO_COLOR": "1"} | environment,
    )

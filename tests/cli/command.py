"""The command as a person starts it at a terminal: in a process of its own."""

import os
import subprocess
from pathlib import Path

from gateway.broker.compiled_core import SWITCH
from tests.system.warm_command import run


def oncegate(
    *arguments: object, directory: Path, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_") or k == SWITCH
    }
    return run(
        [str(each) for each in arguments],
        directory=directory,
        environment=inherited | {"COLUMNS": "100", "NO_COLOR": "1"} | environment,
        standard_input=stdin,
    )

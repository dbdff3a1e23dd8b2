"""A service that only uses the values of settings does not load the library that checks them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[3] / "gateway" / "process" / "declarations"
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_the_room_imports_no_pydantic(module: str) -> None:
    program = (
        f"import sys, gateway.process.declarations.{module}; print('pydantic_core' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found == "False\n"

"""Services that are ready to run: they pass from the process that prepared them to the one that
runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.services import SERVICES


@pytest.mark.parametrize("verb", sorted(SERVICES))
def test_a_service_is_prepared_without_what_reads_its_command_line(
    verb: str, tmp_path: Path
) -> None:
    program = (
        "import sys\n"
        "from gateway.cli import main, services\n"
        "def told(service):\n"
        "    heavy = {'typer', 'pydantic', 'rich'} & set(sys.modules)\n"
        "    print(sorted(heavy), type(service).__name__)\n"
        "    return 3\n"
        "for each in services.Prepared.__subclasses__():\n"
        "    each.run = told\n"
        f"sys.exit(main.run([{verb!r}, '--data-dir', {str(tmp_path)!r}, '--verbose']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == 3
    assert done.stdout.decode().strip() == f"[] Prepared{verb.capitalize()}"

"""Services that are ready to run are passed from the process that prepares them to the one that
runs them."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.services.prepared import SERVICES

AT_ANY_PORT = {"broker": ["--listen", "127.0.0.1:0"]}


@pytest.fixture(autouse=True)
def _upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure an upstream broker: without one there is no uplink to prepare."""
    monkeypatch.setenv("ONCEGATE_UPLINK_ADDRESS", "broker.example:1883")
    monkeypatch.setenv("ONCEGATE_UPLINK_TOPICS", '[{filter = "sensors/#"}]')


@pytest.mark.parametrize("verb", sorted(SERVICES))
def test_a_service_is_prepared_without_what_reads_its_command_line(
    verb: str, tmp_path: Path
) -> None:
    program = (
        "import sys\n"
        "from gateway.cli import main\n"
        "from gateway.cli.services import prepared\n"
        "def report(service):\n"
        "    heavy = {'typer', 'pydantic', 'rich'} & set(sys.modules)\n"
        "    print(sorted(heavy), type(service).__name__)\n"
        "    return 3\n"
        "for each in prepared.Prepared.__subclasses__():\n"
        "    each.run = report\n"
        f"sys.exit(main.run([{verb!r}, '--data-dir', {str(tmp_path)!r}, '--verbose']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == 3
    assert done.stdout.decode().strip() == f"[] Prepared{verb.capitalize()}"


@pytest.mark.parametrize("verb", sorted(SERVICES))
def test_a_service_comes_through_a_pickle_as_it_was(verb: str, tmp_path: Path) -> None:
    service = execute([verb, "--data-dir", str(tmp_path), "--quiet", *AT_ANY_PORT.get(verb, [])])
    again = pickle.loads(pickle.dumps(service))  # noqa: S301 - our own
    assert type(again).__name__ == f"Prepared{verb.capitalize()}"
    assert (again.verbose, again.quiet) == (False, True)
    for name in ("configuration", "settings"):
        assert getattr(again, name, None) == getattr(service, name, None)

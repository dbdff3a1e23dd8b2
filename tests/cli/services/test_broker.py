"""`oncegate broker`: the broker is ready to run, or is refused before it opens a port or a file."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.services.prepared import PreparedBroker
from gateway.configuration import ConfigurationError


def test_a_broken_password_file_is_a_mistake_of_the_configuration_also_for_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "passwords").write_text("no password file\n")
    (tmp_path / "passwords").chmod(0o600)
    (tmp_path / "gateway.toml").write_text(
        '[[listeners]]\nport = 0\n[api]\nport = 0\n[access]\npassword_file = "passwords"\n'
    )
    for verb in ("broker", "up"):
        outcome = subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", verb, "--config", "gateway.toml"],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert outcome.returncode == 2, outcome.stderr
        assert "passwords: line 1: is not USER:HASH" in outcome.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gateway.toml"
    path.write_text("[[listeners]]\nport = 0\n[mqtt]\nmax_inflight = 7\n")
    return path


def prepared(*options: str) -> PreparedBroker:
    service = execute(["broker", *options])
    assert isinstance(service, PreparedBroker)
    return service


def test_a_reload_reads_the_file_again_and_keeps_what_the_command_line_had(
    file: Path, tmp_path: Path
) -> None:
    service = prepared("--config", str(file), "--data-dir", str(tmp_path / "data"))
    assert service.configuration.mqtt.max_inflight == 7
    file.write_text("[[listeners]]\nport = 0\n[mqtt]\nmax_inflight = 9\n")
    again = service.read_again()
    assert again.mqtt.max_inflight == 9
    assert again.gateway.data_dir == tmp_path / "data"
    assert not (tmp_path / "data").exists(), "nothing is made before it runs"


def test_a_reload_of_a_file_that_became_wrong_raises_and_ends_nothing(file: Path) -> None:
    service = prepared("--config", str(file))
    file.write_text("[mqtt]\nmax_inflight = -1\n")
    with pytest.raises(ConfigurationError, match="max_inflight = -1 is not allowed"):
        service.read_again()


def test_a_unix_socket_has_no_port_that_could_be_taken(file: Path, tmp_path: Path) -> None:
    file.write_text(
        "[[listeners]]\nport = 0\n"
        f"[[listeners]]\nprotocol = 'unix'\npath = '{tmp_path / 'mqtt.sock'}'\n"
    )
    assert len(prepared("--config", str(file)).configuration.listeners) == 2

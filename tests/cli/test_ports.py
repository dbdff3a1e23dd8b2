"""Ports that are looked at before anything is started."""

import os
import socket
from pathlib import Path

import pytest

from tests.cli.command import oncegate


@pytest.mark.parametrize("verb", ["broker", "up"])
def test_a_taken_port_is_refused_with_its_holder_and_the_option(verb: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        outcome = oncegate(verb, "--listen", f"127.0.0.1:{port}", directory=tmp_path)
    assert outcome.returncode == 1
    (line,) = outcome.stderr.splitlines()
    assert f"port {port}" in line
    assert f"process {os.getpid()}" in line
    assert "--listen" in line
    assert not (tmp_path / "var").exists()


def test_up_refuses_a_taken_port_of_the_page_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        outcome = oncegate("up", "--listen", "127.0.0.1:0", "--port", port, directory=tmp_path)
    assert outcome.returncode == 1
    (line,) = outcome.stderr.splitlines()
    assert f"port {port}" in line
    assert "--port" in line
    assert not (tmp_path / "var").exists()

"""Ports are checked before any process is started."""

import os
import socket
from pathlib import Path

import pytest

from gateway.cli.common.failures import CommandFailed
from gateway.cli.running.ports import free_port
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


@pytest.mark.parametrize("bind", ["127.0.0.1", "::1"])
def test_port_0_is_one_that_the_system_chooses(bind: str) -> None:
    assert free_port(bind, 0, what="the broker", fix="--listen") > 1024


def test_a_free_port_is_given_back_to_be_listened_on() -> None:
    port = free_port("127.0.0.1", 0, what="the broker", fix="--listen")
    assert free_port("127.0.0.1", port, what="the broker", fix="--listen") == port
    with socket.create_server(("127.0.0.1", port)) as taken:
        assert taken.getsockname()[1] == port


def test_an_address_of_another_machine_is_refused_with_the_fix() -> None:
    with pytest.raises(CommandFailed) as failure:
        free_port("192.0.2.1", 1883, what="the broker", fix="choose another with --listen")
    (line,) = failure.value.lines
    assert line.startswith("the broker cannot listen on 192.0.2.1 port 1883: ")
    assert line.endswith("; choose another with --listen")

"""Two sockets: the control socket accepts every command, the status socket only reads."""

import grp
import json
import os
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.broker_process import BrokerProcess, oncegate_command

READING = ("status", "sessions", "reports", "bans")
ACTING: tuple[dict[str, object], ...] = (
    {"command": "kick", "client_id": "probe"},
    {"command": "drop", "client_id": "probe"},
    {"command": "reload"},
    {"command": "report", "source": "bridge", "status": {}},
    {"command": "observe", "event": "serial_port_lost", "port": "gps"},
    {"command": "exported", "sequence": 0, "segment": 1, "sha256": "00"},
)
START_SECONDS_MAX = 60


@pytest.fixture
def directory() -> Iterator[Path]:
    """Yield a directory with a short path: the path of a socket is limited in length."""
    with tempfile.TemporaryDirectory(prefix="oncegate-") as name:
        yield Path(name)


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    broker = BrokerProcess()
    try:
        yield broker
    finally:
        broker.remove()


def ask(path: Path, request: dict[str, object]) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(connection.makefile("rb").readline())
        return answer


def refused_start(settings: str, data_dir: Path) -> str:
    """Start a broker that must refuse to start; return its error output."""
    file = data_dir.parent / "gateway.toml"
    file.write_text(f'[gateway]\ndata_dir = "{data_dir}"\n{settings}\n[[listeners]]\nport = 0\n')
    ended = subprocess.run(
        [*oncegate_command(), "broker", "--config", str(file)],
        check=False,
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
    )
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_the_status_socket_answers_what_reads_and_refuses_what_acts(broker: BrokerProcess) -> None:
    broker.start()
    status_socket = broker.data_directory / "status.sock"
    for command in READING:
        answer = ask(status_socket, {"command": command})
        assert answer["ok"], answer
    missing = ask(status_socket, {"command": "session", "client_id": "nobody"})
    assert missing["error"]["code"] == "not_found"
    for request in ACTING:
        assert ask(status_socket, request)["error"]["code"] == "forbidden", request
    assert ask(broker.data_directory / "control.sock", {"command": "reload"})["ok"]
    for name in ("status.sock", "control.sock"):
        assert stat.S_IMODE((broker.data_directory / name).stat().st_mode) == 0o660


def test_the_sockets_are_made_in_control_dir_where_one_is_set(directory: Path) -> None:
    control_dir = directory / "run" / "oncegate"
    broker = BrokerProcess("")
    broker.replace_in_configuration(
        "[[listeners]]", f'control_dir = "{control_dir}"\n[[listeners]]'
    )
    try:
        broker.start()
        assert ask(control_dir / "status.sock", {"command": "status"})["ok"]
        assert not (broker.data_directory / "control.sock").exists()
        assert stat.S_IMODE(control_dir.stat().st_mode) == 0o755
        broker.stop()
        assert list(control_dir.iterdir()) == []
    finally:
        broker.remove()


def test_a_data_directory_whose_path_leaves_no_room_for_a_socket_is_refused_with_the_key(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / ("x" * 120)
    reported = refused_start("", data_dir)
    assert f"{data_dir}/control.sock: a socket's path has at most 107 bytes" in reported
    assert "[gateway] control_dir" in reported


def test_a_control_dir_that_is_too_long_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    reported = refused_start(f'control_dir = "/run/{"x" * 95}"', tmp_path / "data")
    assert "control_dir" in reported
    assert "at most 94 bytes" in reported


def test_two_brokers_cannot_have_one_control_dir(directory: Path) -> None:
    broker = BrokerProcess("")
    broker.replace_in_configuration("[[listeners]]", f'control_dir = "{directory}"\n[[listeners]]')
    try:
        broker.start()
        reported = refused_start(f'control_dir = "{directory}"', directory / "second")
        assert f"{directory}/control.sock: another broker listens there" in reported
        assert ask(directory / "control.sock", {"command": "status"})["ok"]
        # A socket of a killed broker is replaced, and so is any other file of this name.
        broker.kill()
        (directory / "status.sock").unlink()
        (directory / "status.sock").write_text("no socket")
        broker.start()
        assert ask(directory / "status.sock", {"command": "status"})["ok"]
    finally:
        broker.remove()


def test_a_group_that_is_not_there_is_named_with_its_key(directory: Path) -> None:
    reported = refused_start('status_group = "no-such-group"', directory / "data")
    assert "status.sock" in reported
    assert "'no-such-group'" in reported
    assert "[gateway]" in reported


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to any group")
def test_each_socket_belongs_to_the_group_that_its_key_names(directory: Path) -> None:
    broker = BrokerProcess("")
    broker.replace_in_configuration(
        "[[listeners]]",
        f'control_dir = "{directory}"\ncontrol_group = "adm"\nstatus_group = "users"\n'
        "[[listeners]]",
    )
    try:
        broker.start()
        groups = {
            name: grp.getgrgid((directory / name).stat().st_gid).gr_name
            for name in ("control.sock", "status.sock")
        }
        assert groups == {"control.sock": "adm", "status.sock": "users"}
    finally:
        broker.remove()

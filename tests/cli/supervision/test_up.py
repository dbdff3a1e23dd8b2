"""`oncegate up`: its children's arguments, and a whole run from the first line to the last."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from firmware_bridge.protocols.table import PROTOCOLS

import gateway.cli.supervision.children
from gateway.cli.supervision.up import environment_of, subscribing_command
from gateway.configuration import load

DEADLINE_SECONDS = 60


def test_children_receive_what_the_options_set() -> None:
    options = {"gateway.data_dir": "/srv/x", "listen": "127.0.0.1:1999", "api.port": 8090}
    environment = environment_of(load(None, {}, options, None), {"PATH": "/bin"})
    loaded = load(None, environment, {}, PROTOCOLS)
    assert loaded.gateway.data_dir == Path("/srv/x")
    assert [(listener.bind, listener.port) for listener in loaded.listeners] == [
        ("127.0.0.1", 1999)
    ]
    assert loaded.api.port == 8090
    assert environment["PATH"] == "/bin"


def test_without_a_serial_port_a_board_is_simulated_and_segments_are_sealed_soon() -> None:
    loaded = load(None, environment_of(load(None, {}, {}, None), {}), {}, PROTOCOLS)
    (port,) = loaded.serial
    assert (port.name, port.framing, port.path) == ("board", "board", Path("var/board"))
    assert loaded.session_log.seal_after == 5.0


def test_what_is_configured_is_left_as_it_is() -> None:
    serial = json.dumps([{"name": "gps", "path": "/dev/ttyS0", "framing": "nmea"}])
    given = {"ONCEGATE_SERIAL": serial, "ONCEGATE_SESSION_LOG_SEAL_AFTER": "60s"}
    loaded = load(None, environment_of(load(None, given, {}, PROTOCOLS), given), {}, PROTOCOLS)
    assert loaded.serial[0].name == "gps"
    assert loaded.session_log.seal_after == 60.0


def test_as_services_nothing_is_simulated_and_no_default_is_a_developer_s() -> None:
    configuration = load(None, {}, {}, None)
    loaded = load(None, environment_of(configuration, {}, as_services=True), {}, None)
    assert loaded.serial == ()
    assert loaded.session_log.seal_after == configuration.session_log.seal_after == 60.0


PLAIN, ASKING = "{port = 1884}", "{port = 1885, anonymous = false}"
WEBSOCKET = '{protocol = "websocket"}'


@pytest.mark.parametrize(
    ("listeners", "address"),
    [
        (f"[{PLAIN}]", "-h 127.0.0.1 -p 1884"),
        (f"[{WEBSOCKET}, {PLAIN}]", "-h 127.0.0.1 -p 1884"),
        (f"[{ASKING}]", "-h 127.0.0.1 -p 1885 -u USER -P PASSWORD"),
        (f"[{ASKING}, {PLAIN}]", "-h 127.0.0.1 -p 1884"),
        ('[{bind = "0.0.0.0", anonymous = false}]', "-h 127.0.0.1 -p 1883 -u USER -P PASSWORD"),
    ],
)
def test_the_command_that_shows_readings_has_a_user_where_the_listener_asks_for_one(
    listeners: str, address: str
) -> None:
    environment = {"ONCEGATE_LISTENERS": listeners, "ONCEGATE_ACCESS_PASSWORD_FILE": "p"}
    command = subscribing_command(load(None, environment, {}, None))
    assert command == f"mosquitto_sub {address} -t 'sensors/#' -v"


@pytest.mark.parametrize(("username", "user"), [(None, ""), ("b", " -u USER -P PASSWORD")])
def test_readings_are_shown_by_the_broker_that_the_bridge_publishes_to(
    username: str | None, user: str
) -> None:
    overrides = {"bridge.broker": "broker.example:1885", "bridge.username": username}
    command = subscribing_command(load(None, {}, overrides, None))
    assert command == f"mosquitto_sub -h broker.example -p 1885{user} -t 'sensors/#' -v"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", "up", "--listen", "127.0.0.1:0", "--port", "0"],
        cwd=tmp_path,
        env=environment | {"NO_COLOR": "1", "ONCEGATE_COMPILE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    # The child processes end with this one, whatever the test has done.
    process.kill()
    process.wait(timeout=DEADLINE_SECONDS)
    assert process.stdout is not None
    process.stdout.close()


def banner_of(process: subprocess.Popen[str]) -> dict[str, str]:
    """Read the lines with addresses up to the last one. Return them by their first word."""
    assert process.stdout is not None
    loaded: dict[str, str] = {}
    for line in process.stdout:
        word, _, rest = line.strip().partition(" ")
        loaded[word] = rest.strip()
        if "simulated board" in line:
            break
    return loaded


def children_of(process: subprocess.Popen[str]) -> set[int]:
    tasks = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return {int(pid) for pid in tasks.read_text().split()}


@pytest.mark.slow
def test_up_reports_where_to_look_and_ctrl_c_leaves_nothing_behind(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    loaded = banner_of(running)
    assert "Ctrl-C" in loaded["Oncegate"]
    assert loaded["data"] == "var"
    assert httpx.get(f"{loaded['page']}readyz", timeout=DEADLINE_SECONDS).is_success
    children = children_of(running)
    assert len(children) == 5
    running.send_signal(signal.SIGINT)
    assert running.stdout is not None
    assert [line.strip() for line in running.stdout if line.strip()] == [
        "oncegate: stopping ...",
        "oncegate: stopped; the next start continues from here",
    ]
    assert running.wait(timeout=DEADLINE_SECONDS) == 0
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    assert list((tmp_path / "var" / "uploaded").glob("*.jsonl.zst"))


@pytest.mark.slow
def test_as_services_every_line_is_on_stdout_and_states_who_reaches_what(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_")}
    options = ("--as-services", "--listen", "127.0.0.1:0", "--port", "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", "up", *options],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "only this machine can reach the page" in line:
            break
    assert len(children_of(process)) == 4, "no board is simulated"
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    said = "".join(lines) + rest
    assert "oncegate: runs; the broker listens on 127.0.0.1 port" in said
    assert "only this machine can reach the broker" in said
    assert " broker " in said, "children log what services log"
    assert said.endswith("oncegate: stopped; the next start continues from here\n")


def test_as_services_a_mistake_is_reported_on_stdout_with_its_exit_code(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", "up", "--as-services"],
        check=False,
        cwd=tmp_path,
        env=dict(os.environ) | {"ONCEGATE_LISTENERS": '[{bind = "0.0.0.0"}]'},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert (outcome.returncode, outcome.stderr) == (2, "")
    assert "anonymous = false with [access] password_file" in outcome.stdout


@pytest.mark.parametrize(
    ("listeners", "command"),
    [
        ('[{protocol = "websocket"}]', None),
        (
            "[{port = 1884, anonymous = false}]",
            "mosquitto_sub -h 127.0.0.1 -p 1884 -u USER -P PASSWORD -t 'sensors/#' -v",
        ),
    ],
)
def test_no_board_is_simulated_whose_bridge_could_not_log_in(
    listeners: str, command: str | None
) -> None:
    given = {"ONCEGATE_LISTENERS": listeners, "ONCEGATE_ACCESS_PASSWORD_FILE": "users"}
    configuration = load(None, given, {}, PROTOCOLS)
    environment = environment_of(configuration, given)
    assert load(None, environment, {}, PROTOCOLS).serial == ()
    started = gateway.cli.supervision.children.children_of(configuration, [], as_services=False)
    assert "board" not in [each.name for each in started]
    assert subscribing_command(configuration) == command


def test_the_script_for_bare_machines_looks_for_the_last_line() -> None:
    script = Path(__file__).resolve().parents[2] / "machines" / "run"
    assert 'grep "the next start continues from here" run.log' in script.read_text()

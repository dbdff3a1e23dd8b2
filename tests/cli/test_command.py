"""The command as a person at a terminal meets it: help, mistakes, exit codes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.server.host.compiled import COMPILED

VERBS = [
    ["up"],
    ["broker"],
    ["bridge"],
    ["api"],
    ["upload"],
    ["simulate-board"],
    ["ingest"],
    ["passwd"],
    ["bench"],
    ["check-config"],
    ["ctl", "status"],
    ["ctl", "sessions"],
    ["ctl", "session"],
    ["ctl", "kick"],
    ["ctl", "drop"],
    ["ctl", "reload"],
]


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


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example_and_takes_a_configuration(
    verb: list[str], tmp_path: Path
) -> None:
    outcome = oncegate(*verb, "--help", directory=tmp_path)
    assert outcome.returncode == 0
    assert f"oncegate {' '.join(verb)}" in outcome.stdout.split("Example")[1]
    assert "--config" in outcome.stdout


def test_help_loads_no_room(tmp_path: Path) -> None:
    program = (
        "import sys; from gateway.cli.main import run; run(['--help']);"
        "heavy = {'pydantic', 'fastapi', 'pyspark', 'obstore', 'gmqtt', 'argon2', 'sqlite3'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, stdout=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["brokr"], "No such command 'brokr'"),
        (["broker", "--lisen", "x"], "No such option: --lisen"),
        (["passwd"], "Missing argument"),
        (["broker", "--listen", "nowhere"], "'nowhere' is not HOST:PORT"),
        (["broker", "--config", "missing.toml"], "missing.toml: cannot be read"),
        (["api", "--port", "99999"], "a whole number from 0 to 65535"),
        (["simulate-board", "x", "--interval", "5"], "a duration with its unit"),
        (["up", "--listen", "0.0.0.0:1883"], "can be reached from the network"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_mistake_of_usage_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    outcome = oncegate(*arguments, directory=tmp_path)
    assert outcome.returncode == 2
    (line,) = outcome.stderr.splitlines()
    assert message in line
    assert outcome.stdout == ""


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


def test_check_config_says_that_a_configuration_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("[mqtt]\nmax_inflight = 7\n")
    outcome = oncegate("check-config", "--config", "g.toml", "--show", directory=tmp_path)
    assert outcome.returncode == 0
    assert "g.toml: can be used" in outcome.stdout
    assert any(
        "[mqtt] max_inflight" in line and "7" in line for line in outcome.stdout.splitlines()
    )


def test_check_config_tells_every_mistake_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("[mqtt]\nmax_inflight = -7\nx = 1\n")
    outcome = oncegate("check-config", directory=tmp_path, ONCEGATE_CONFIG="g.toml")
    assert outcome.returncode == 2
    assert len(outcome.stderr.splitlines()) == 2


def test_check_config_looks_into_the_password_file(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("oops\n")
    environment = {"ONCEGATE_ACCESS_PASSWORD_FILE": "p"}
    outcome = oncegate("check-config", directory=tmp_path, **environment)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("p: line 1: is not USER:HASH")


def test_passwd_takes_the_password_from_stdin_and_never_shows_it(tmp_path: Path) -> None:
    added = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path, stdin="xyzzy\n")
    assert (added.returncode, added.stdout) == (0, "added: ann in p\n")
    changed = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path, stdin="abc")
    assert changed.stdout == "changed: ann in p\n"
    removed = oncegate("passwd", "p", "ann", "--remove", directory=tmp_path)
    assert removed.returncode == 0
    again = oncegate("passwd", "p", "ann", "--remove", directory=tmp_path)
    assert (again.returncode, again.stderr) == (1, "p: there is no user 'ann'\n")
    assert "xyzzy" not in added.stdout + added.stderr + (tmp_path / "p").read_text()


def test_passwd_refuses_an_empty_password(tmp_path: Path) -> None:
    outcome = oncegate("passwd", "p", "ann", "--password-stdin", directory=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (1, "a password has 1 to 65535 bytes\n")
    assert not (tmp_path / "p").exists()


def test_output_that_nobody_reads_any_more_brings_no_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", "check-config", "--show"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    complaint = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in complaint


def test_the_version_says_which_build_of_the_core_runs(tmp_path: Path) -> None:
    outcome = oncegate("--version", directory=tmp_path)
    assert outcome.stdout.startswith("oncegate 0.1.0 (core: ")
    assert ("compiled" in outcome.stdout) is COMPILED

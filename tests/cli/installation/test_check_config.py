"""`oncegate check-config` checks a configuration before anything is restarted."""

import json
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.broker.access.passwords.file import set_password
from gateway.cli.main import run
from gateway.configuration.schema import schema
from tests.cli.command import oncegate


def test_check_config_states_that_a_configuration_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("[mqtt]\nmax_inflight = 7\n")
    outcome = oncegate("check-config", "--config", "g.toml", "--show", directory=tmp_path)
    assert outcome.returncode == 0
    assert "g.toml: can be used" in outcome.stdout
    assert any(
        "[mqtt] max_inflight" in line and "7" in line for line in outcome.stdout.splitlines()
    )


def test_check_config_reports_every_mistake_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("[mqtt]\nmax_inflight = -7\nx = 1\n")
    outcome = oncegate("check-config", directory=tmp_path, ONCEGATE_CONFIG="g.toml")
    assert outcome.returncode == 2
    assert len(outcome.stderr.splitlines()) == 2


def test_check_config_looks_into_the_password_file(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("oops\n")
    (tmp_path / "p").chmod(0o600)
    environment = {"ONCEGATE_ACCESS_PASSWORD_FILE": "p"}
    outcome = oncegate("check-config", directory=tmp_path, **environment)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("p: line 1: is not USER:HASH")


def test_check_config_looks_into_the_rules_file_and_states_what_holds(tmp_path: Path) -> None:
    def checked(**environment: str) -> tuple[int, str, str]:
        outcome = oncegate("check-config", directory=tmp_path, **environment)
        return outcome.returncode, outcome.stdout, outcome.stderr

    assert "no rules file: every client may publish and subscribe to everything" in checked()[1]
    (tmp_path / "r").write_text("allow user a publish\nx\n")
    (tmp_path / "p").write_text("oops\n")
    (tmp_path / "p").chmod(0o600)
    both = {"ONCEGATE_ACCESS_RULES_FILE": "r", "ONCEGATE_ACCESS_PASSWORD_FILE": "p"}
    code, _, problems = checked(**both)
    assert code == 2
    assert [line.split(": ")[:2] for line in problems.splitlines()] == [
        ["p", "line 1"],
        ["r", "line 1"],
        ["r", "line 2"],
    ]
    (tmp_path / "r").write_text("allow user a publish t\n")
    assert checked(ONCEGATE_ACCESS_RULES_FILE="r")[1].splitlines()[1] == "r: 1 access rule"
    (tmp_path / "p").write_text("")
    (tmp_path / "p").chmod(0o600)
    network = {
        "ONCEGATE_ACCESS_PASSWORD_FILE": "p",
        "ONCEGATE_LISTENERS": '[{bind = "0.0.0.0", anonymous = false}]',
    }
    assert "no rules file: users have users/NAME/#" in checked(**network)[1]


TENANTS = """
[[tenants.acme.listeners]]
bind = "0.0.0.0"
port = 1884
anonymous = false
[tenants.acme.access]
password_file = "p"
[tenants.acme.api]
port = 8081
[[tenants.beta.listeners]]
port = 1885
"""


def test_check_config_states_what_holds_for_the_gateway_and_for_each_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p").touch(0o600)
    (tmp_path / "r").write_text("allow user a publish t\n")
    file = tmp_path / "gateway.toml"
    file.write_text('[access]\nrules_file = "r"\n' + TENANTS)
    everything = "no rules file: every client may publish and subscribe to everything"
    own = (
        "no rules file: users have users/NAME/# and read sensors/#, to which no user may publish "
        "(oncegate acl show --tenant acme)"
    )
    page = "the page: 127.0.0.1 port 8081, for everyone on this machine"
    assert run(["check-config", "--config", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "the gateway: r: 1 access rule",
        "the gateway: the page: 127.0.0.1 port 8080, for everyone on this machine",
        f"tenant acme: {own}",
        f"tenant acme: {page}",
        f"tenant beta: {everything}",
    ]
    assert run(["check-config", "--json", "--config", str(file)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rules"] == "r: 1 access rule"
    assert shown["tenants"] == {
        "acme": {"rules": own, "page": page},
        "beta": {"rules": everything, "page": None},
    }


def test_check_config_states_where_the_page_is_and_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def checked(**environment: str) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(f"ONCEGATE_{name}", value)
            code = run(["check-config"])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    assert "the page: 127.0.0.1 port 8080, for everyone on this machine" in checked()[1]
    network = {"API_BIND": "0.0.0.0"}  # noqa: S104
    code, said = checked(**network)
    assert code == 0
    assert "127.0.0.1 port 8080, this machine only: without users it stays on loopback" in said
    set_password(tmp_path / "p", "anna", b"secret", scram_iterations=4_096)
    users = {"ACCESS_PASSWORD_FILE": "p", "API_VIEWERS": '["anna"]'}
    said = checked(**network, **users)[1]
    assert "0.0.0.0 port 8080, for 1 user who log in; passwords are not encrypted" in said
    assert "for 1 user who log in\n" in checked(**users)[1]
    mysql = '{socket="s", user="u", database="d", query="SELECT user_groups WHERE ${username}"}'
    said = checked(**users, ACCESS_MYSQL=mysql, API_VIEWER_GROUPS='["a"]')[1]
    assert "for 1 user and 1 group who log in" in said
    code, said = checked(**users | {"API_VIEWERS": '["anna", "ben"]'}, API_TOKENS_FILE="t")
    assert code == 2
    assert "[api]: 'ben' is not a user in p: oncegate passwd p ben" in said
    assert "t: cannot be read" in said


def test_the_command_prints_it_whatever_the_configuration_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gateway.toml").write_text("[mqt]\n")
    file = str(tmp_path / "gateway.toml")
    assert run(["check-config", "--schema", "--config", file]) == 0
    assert json.loads(capsys.readouterr().out) == schema(PROTOCOLS)

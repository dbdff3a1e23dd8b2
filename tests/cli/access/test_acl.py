"""`oncegate acl`: the deciding line, exit codes, effective rules, and conversion from Mosquitto."""

import json
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.cli.main import run
from tests.cli.command import oncegate

RULES = """\
group ops = anna ben
deny  user ben publish cellar/lock
allow group ops publish,subscribe cellar/#
allow user * qos 0 publish users/%u/#
allow anonymous listener 127.0.0.1:* all #
allow user * subscribe $share/ops/cellar/#
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "access.rules"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        ("anna publish cellar/lock", 0, "line 3: allow group ops publish,subscribe cellar/#"),
        ("ben publish cellar/lock", 1, "line 2: deny  user ben publish cellar/lock"),
        ("carl publish users/carl/x", 0, "line 4"),
        ("carl publish users/carl/x --qos 1", 1, "no line"),
        ("carl subscribe cellar/#", 1, "no line"),
        ("anna subscribe #", 1, "no line"),
        ("anna receive cellar/x", 0, "line 3"),
        ("anna subscribe $share/ops/cellar/x", 0, "(its group is the user's own)"),
        ("carl subscribe $share/ops/cellar/x", 0, "$share/ops/cellar/# (its group is common"),
        ("carl subscribe $share/other/cellar/x", 1, "no line"),
        ("carl connect", 0, "line 4"),
        ("- connect --listener 0.0.0.0:1883", 1, "no line"),
        ("- publish a --retain --listener 127.0.0.1:1883", 0, "line 5"),
        ("anna publish cellar/#", 2, ""),
        ("anna subscribe a/#/b", 2, ""),
        ("anna connect topic", 2, ""),
        ("anna write topic", 2, ""),
    ],
)
def test_the_line_that_decides_is_printed_and_the_exit_code_shows_whether_it_is_allowed(
    rules: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    exit_code: int,
    said: str,
) -> None:
    assert run(["acl", "test", *arguments.split(), "--file", str(rules)]) == exit_code
    output = capsys.readouterr().out
    assert said in output
    assert output.startswith(("allowed: ", "denied: ", "")[exit_code])


def test_a_program_reads_the_same_as_json(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["acl", "test", "ben", "publish", "cellar/lock", "--json", "--file", str(rules)]
    assert run(arguments) == 1
    assert json.loads(capsys.readouterr().out) == {
        "allowed": False,
        "line": 2,
        "rule": "deny  user ben publish cellar/lock",
        "file": str(rules),
    }


def test_the_rules_about_a_user_are_listed(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(*options: str) -> list[int]:
        assert run(["acl", "show", "--json", "--file", str(rules), *options]) == 0
        return [each["line"] for each in json.loads(capsys.readouterr().out)["rules"]]

    assert lines() == [2, 3, 4, 5, 6]
    assert lines("--user", "anna") == [3, 4, 6]
    assert lines("--user", "carl") == [4, 6]
    assert lines("--user", "-") == [5]
    assert run(["acl", "show", "--file", str(rules)]) == 0
    assert "everything that no line matches is denied" in capsys.readouterr().out


def test_mistakes_in_the_file_are_a_line_each(
    rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules.write_text("x\ny\n")
    assert run(["acl", "show", "--file", str(rules)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_without_a_file_the_rules_are_those_of_the_configuration(tmp_path: Path) -> None:
    set_password(tmp_path / "p", "anna", b"secret")
    (tmp_path / "g.toml").write_text(
        '[[listeners]]\nbind = "0.0.0.0"\nanonymous = false\n[access]\npassword_file = "p"\n'
    )
    arguments = ("acl", "test", "anna", "publish", "sensors/x", "--config", "g.toml")
    outcome = oncegate(*arguments, directory=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (
        1,
        "denied: no line of the default rules matches\n",
    )
    outcome = oncegate("acl", "test", "anna", "publish", "x", directory=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (
        0,
        "allowed: no rules: everything is allowed\n",
    )
    outcome = oncegate("acl", "show", directory=tmp_path)
    assert outcome.stdout == "no rules: everything is allowed\n"


def test_a_mosquitto_file_is_printed_as_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acl = tmp_path / "acl"
    acl.write_text("user roger\ntopic read a/#\npattern write users/%u/#\n")
    assert run(["acl", "import", str(acl)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "allow user roger subscribe a/#",
        "allow anyone publish users/%u/#",
        "allow anyone connect",
    ]
    acl.write_text("oops\n")
    assert run(["acl", "import", str(acl)]) == 2

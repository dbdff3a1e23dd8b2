"""The commands at a terminal: help, completion, mistyped arguments."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rich.markup
import typer

from gateway.broker.server.host.compiled import COMPILED
from gateway.cli.application import application_of
from gateway.cli.main import run
from tests.cli.command import oncegate

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
    ["ctl", "ban", "add"],
    ["ctl", "ban", "list"],
    ["ctl", "ban", "lift"],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example_and_takes_a_configuration(
    verb: list[str], tmp_path: Path
) -> None:
    outcome = oncegate(*verb, "--help", directory=tmp_path)
    assert outcome.returncode == 0
    assert f"oncegate {' '.join(verb)}" in outcome.stdout.split("Example")[1]
    assert "--config" in outcome.stdout


def test_a_subcommand_imports_no_other_and_a_mistyped_one_imports_all() -> None:
    code = (
        "import sys; from gateway.cli.application import execute\n"
        "execute([sys.argv[1], '--help'])\n"
        "print({'gateway.cli.tools.bench', 'gateway.cli.tables.jobs'} & sys.modules.keys())"
    )
    for name, is_alone in (("broker", True), ("brocker", False)):
        command = [sys.executable, "-c", code, name]
        started = subprocess.run(command, capture_output=True, text=True, check=True)
        assert started.stdout.endswith("set()\n") is is_alone


def commands_of(command: Any) -> Iterator[Any]:
    """Yield a command and all its subcommands."""
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from commands_of(each)


def test_no_help_text_loses_words_in_brackets_because_they_are_markup() -> None:
    texts = [
        text
        for command in commands_of(typer.main.get_command(application_of()))
        for text in (command.help, *(getattr(each, "help", None) for each in command.params))
        if text is not None
    ]
    assert len(texts) > 150
    assert [text for text in texts if rich.markup.render(text).plain != text] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["brokr"], "No such command 'brokr'"),
        (["broker", "--lisen", "x"], "No such option: --lisen"),
        (["--show-completion", "x"], "Invalid value for '--show-completion': 'x' is not one of"),
        (["passwd"], "Missing argument"),
        (["check-config", "x.toml"], "name the configuration file with --config x.toml"),
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


def test_the_version_states_which_build_of_the_core_runs(tmp_path: Path) -> None:
    outcome = oncegate("--version", directory=tmp_path)
    assert re.match(r"oncegate 0\.1\.0 \((commit [0-9a-f]{12,}(-dirty)?, )?core: ", outcome.stdout)
    assert ("compiled" in outcome.stdout) is COMPILED


def completed(directory: Path, script: str, *words: str) -> list[str]:
    """Return the completions that bash offers for the last of `words`."""
    command = directory / "oncegate"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m gateway.cli.main "$@"\n')
    command.chmod(0o755)
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        f"{script}\nPATH={directory}:$PATH; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}\n"
        '_oncegate_completion oncegate; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    outcome = subprocess.run(
        ["bash", "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert outcome.stderr == ""
    return outcome.stdout.split()


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["--show-completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["oncegate", "che"], ["check-config"]),
        (["oncegate", "ctl", "sess"], ["sessions", "session"]),
        (["oncegate", "check-config", "--sch"], ["--schema"]),
        (["oncegate", "broker", "--lis"], ["--listen"]),
        (["oncegate", "--show-completion", ""], ["bash", "zsh", "fish"]),
    ],
    ids=" ".join,
)
def test_bash_completes_verbs_options_and_choices(
    words: list[str], offered: list[str], script: str, tmp_path: Path
) -> None:
    assert sorted(completed(tmp_path, script, *words)) == sorted(offered)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", shell]) == 0
    assert f"_ONCEGATE_COMPLETE=complete_{shell}" in capsys.readouterr().out


def test_a_shell_without_one_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", "ksh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err

"""Completion of the command line, in a real bash."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.main import run


def completed(directory: Path, script: str, *words: str) -> list[str]:
    """What bash offers for the last of `words`."""
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

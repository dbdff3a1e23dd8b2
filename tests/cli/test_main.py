"""The entry point: the modules that it loads, and its end after an error."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.cli.command import oncegate


def test_help_loads_no_room(tmp_path: Path) -> None:
    program = (
        "import sys; from gateway.cli.main import run; run(['--help']);"
        "heavy = {'pydantic', 'fastapi', 'pyspark', 'obstore', 'gmqtt', 'argon2', 'sqlite3'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, stdout=subprocess.DEVNULL
    )


def test_output_that_is_no_longer_read_brings_no_traceback(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ("raise CommandFailed(['a', 'b'], exit_code=4)", 4, "a\nb\n"),
        ("raise KeyboardInterrupt", 130, ""),
        ("raise OSError(28, 'No space left on device', 'x')", 1, "No space left on device\n"),
        (
            "import argon3",
            1,
            (
                "the Python package argon3 is missing: install the wheel file with its extra, "
                "'./oncegate-VERSION-PLATFORM.whl[all]' (docs/install.md)\n"
            ),
        ),
    ],
)
def test_what_a_verb_cannot_do_ends_with_a_line_and_an_exit_code(
    step: str, code: int, said: str
) -> None:
    outcome = run_with(step)
    assert outcome.returncode == code
    assert outcome.stderr.endswith(said)
    assert len(outcome.stderr.splitlines()) == len(said.splitlines())


@pytest.mark.parametrize("step", ["raise ValueError('x')", "import gateway.not_there"])
def test_a_mistake_of_our_own_is_not_hidden(step: str) -> None:
    outcome = run_with(step)
    assert outcome.returncode == 1
    assert "Traceback" in outcome.stderr


def run_with(step: str) -> subprocess.CompletedProcess[str]:
    """Run the command `id` in a separate process, with `step` planted into it."""
    program = (
        "import sys\n"
        "from gateway.cli import main\n"
        "from gateway.cli.installation import identity\n"
        "from gateway.cli.common.failures import CommandFailed\n"
        "import gateway.configuration\n"
        f"def planted(*_):\n    {step}\n"
        "gateway.configuration.log_identity = planted\n"
        "main.main(['id'])\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        return subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=directory,
        )


def test_pydantic_looks_for_no_plugins_unless_a_person_wants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for given, expected in ((None, "__all__"), ("other-plugin", "other-plugin")):
        monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
        if given is not None:
            monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", given)
        assert run(["--version"]) == 0
        assert os.environ["PYDANTIC_DISABLE_PLUGINS"] == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("broker --data-dir file", "file: is a file, and the data directory has to be a directory"),
        ("bridge --data-dir file/x", "file/x: cannot be created: Not a directory"),
        ("upload --data-dir file", "name another one with --data-dir or [gateway] data_dir"),
        ("id --data-dir file", "name another one with --data-dir or [gateway] data_dir"),
        ("id --data-dir /proc/x", "/proc/x: cannot be created: No such file or directory: name"),
        (
            "backup none/x.tar.gz",
            "none/x.tar.gz: none is not a directory: create it, or name",
        ),
        ("backup file/x.tar.gz", "file/x.tar.gz: file is not a directory: create it, or"),
        ("passwd none/p anna --password-stdin", "none/p: the directory none does not exist"),
        ("api-token add x --file none/t", "none/t: the directory none does not exist"),
        ("passwd directory anna --password-stdin", "directory: cannot be read: Is a directory\n"),
        ("passwd p --import none", "none: cannot be read: No such file or directory\n"),
        ("tls init file", "file is not a directory: name another one"),
    ],
)
def test_a_path_that_cannot_be_used_is_named_with_the_reason_and_the_fix(
    tmp_path: Path, arguments: str, said: str
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "directory").mkdir()
    (tmp_path / "gateway.toml").write_text("")
    outcome = oncegate(
        *arguments.split(), directory=tmp_path, stdin="secret\n", ONCEGATE_CONFIG="gateway.toml"
    )
    assert outcome.returncode in (1, 2)
    assert said in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1

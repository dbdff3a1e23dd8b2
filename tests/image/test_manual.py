"""The manual pages in the Debian package: one for each command, in roff without errors."""

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
# The last line prints the compiled modules that were loaded. There must be none: when the package
# is built for another architecture, they could not be loaded.
PROGRAM = """
import runpy, sys
runpy.run_path(sys.argv.pop(1), run_name="__main__")
files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
print([file for file in files if "site-packages" in file and file.endswith(".so")])
"""


def made_in(folder: Path) -> Path:
    outcome = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "image" / "deb" / "manual.py"), str(folder)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome.stdout == "[]\n"
    return folder


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_in(tmp_path_factory.mktemp("manual") / "share")


def pages_of(share: Path) -> dict[str, str]:
    pages = (share / "man" / "man1").iterdir()
    return {page.name: gzip.decompress(page.read_bytes()).decode() for page in pages}


def test_each_verb_has_a_page_with_its_options_and_examples(share: Path) -> None:
    pages = pages_of(share)
    assert {"oncegate.1.gz", "oncegate-broker.1.gz", "oncegate-ctl-kick.1.gz"} < set(pages)
    for verb in ("broker", "check\\-config", "ctl"):
        assert f".BR oncegate\\-{verb} (1)" in pages["oncegate.1.gz"]
    check = pages["oncegate-check-config.1.gz"]
    assert "\n.B \\-\\-schema\n" in check
    assert "\noncegate check\\-config \\-\\-json\n" in check
    assert "\n.SH EXIT STATUS\n0 ok, 1 failure" in check
    assert ".B oncegate passwd [OPTIONS] FILE USER" in pages["oncegate-passwd.1.gz"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_roff_has_nothing_to_complain_about(share: Path) -> None:
    for name, page in pages_of(share).items():
        outcome = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z"],
            input=page,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert outcome.stderr == "", name


def test_two_runs_make_the_same_bytes(share: Path, tmp_path: Path) -> None:
    again = made_in(tmp_path / "share")
    for file in share.rglob("*"):
        if file.is_file():
            assert (again / file.relative_to(share)).read_bytes() == file.read_bytes()


def test_the_completion_is_what_the_command_prints(
    share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--show-completion", "bash"]) == 0
    script = share / "bash-completion" / "completions" / "oncegate"
    assert script.read_text() == capsys.readouterr().out

"""`oncegate --version` names the commit of a checkout or a wheel, and none without a repository."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from gateway.cli.installation.version import COMMIT, COMMIT_FILE, commit_of, version_text

ROOT = Path(__file__).resolve().parents[3]


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    outcome = subprocess.run(
        ["git", "-C", folder, *names, *arguments], check=True, capture_output=True, text=True
    )
    return outcome.stdout.strip()


def test_a_checkout_has_its_commit_and_a_mark_for_changes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert commit_of(tmp_path) == commit
    git(tmp_path, "tag", "v9")
    assert commit_of(tmp_path) == commit
    (tmp_path / "file").write_text("2")
    assert commit_of(tmp_path) == f"{commit}-dirty"


def test_an_installation_has_the_commit_that_it_was_built_from(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    (tmp_path / "gateway").mkdir()
    (tmp_path / COMMIT_FILE).write_text("8ed6324b1234\n")
    assert commit_of(tmp_path) == "8ed6324b1234"


def test_a_repository_that_git_cannot_read_has_no_commit(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nonexistent\n")
    assert commit_of(tmp_path) is None


def test_the_version_names_the_commit_of_this_checkout() -> None:
    commit = commit_of(ROOT)
    assert version_text().startswith(
        "oncegate 0.1.0 (core: " if commit is None else f"oncegate 0.1.0 (commit {commit}, core: "
    )


def test_a_wheel_has_the_commit_and_is_the_same_twice(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    for name in ("gateway", "api", "cloud_jobs", "firmware-bridge"):
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    wheels = [built(sources, tmp_path / name) for name in ("one", "two")]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[0]) as wheel:
        assert wheel.read(COMMIT_FILE) == b"0123456789ab\n"


def built(sources: Path, folder: Path) -> Path:
    """Build a wheel without compiled parts and return its path."""
    environment = {**os.environ, COMMIT: "0123456789ab", "ONCEGATE_COMPILE": "0"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=sources,
        env=environment,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_a_build_can_load_the_file_alone() -> None:
    file = ROOT / "gateway" / "cli" / "installation" / "version.py"
    program = f"import runpy; print(runpy.run_path({str(file)!r})['COMMIT'])"
    # Without site-packages, as in the build of a wheel, the package cannot be imported.
    alone = [sys.executable, "-I", "-S", "-c", program]
    assert subprocess.check_output(alone, text=True, timeout=60).strip() == "ONCEGATE_COMMIT"

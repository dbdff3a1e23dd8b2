"""Files for the set-up: versions with hashes, no addresses, and one list of Debian packages."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
LOCKED = [path for path in REQUIREMENTS if path.name != "debian.txt"]
MQTTJS = ROOT / "tests" / "contract" / "mqtt_client" / "mqttjs"


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_a_requirements_file_names_no_address(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(-i|--index-url|--extra-index-url|-f|--find-links)\b", text, re.M)


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_requirement_has_one_version_and_a_hash(path: Path) -> None:
    entries = re.split(r"\n(?=[a-z0-9])", path.read_text(), flags=re.IGNORECASE)
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==[^\s;]+", entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_lock_has_the_names_that_it_was_made_from(path: Path) -> None:
    locked = {
        re.split(r"[=\s;\[]", line)[0] for line in path.read_text().splitlines() if "==" in line
    }
    for line in path.with_suffix(".in").read_text().splitlines():
        name = re.split(r"[=<>\s;\[]", line)[0]
        assert line.startswith(("-c ", "#")) or not name or name in locked


def test_every_line_of_the_debian_packages_names_packages_or_a_section() -> None:
    for line in (ROOT / "requirements" / "debian.txt").read_text().splitlines():
        said = line.partition("#")[0].strip()
        name = r"[a-z0-9][a-z0-9.+-]+"
        assert re.fullmatch(rf"|\[[a-z-]+\]|{name}( \| {name})*", said), line


def test_the_files_agree_on_every_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in LOCKED:
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(), re.MULTILINE):
            versions.setdefault(name, set()).add(version)
    # A package with different versions for different Pythons has the same two versions in every
    # file.
    several = {name: found for name, found in versions.items() if len(found) > 1}
    for name, found in several.items():
        for path in LOCKED:
            here = set(re.findall(rf"^{name}==([^\s;]+)", path.read_text(), re.MULTILINE))
            assert here in (set(), found), f"{name} in {path.name}"


def test_every_javascript_package_has_a_hash_and_no_download_address() -> None:
    packages = json.loads((MQTTJS / "package-lock.json").read_text())["packages"]
    ours = packages.pop("")
    assert ours["dependencies"] == json.loads((MQTTJS / "package.json").read_text())["dependencies"]
    assert packages
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
        # The .npmrc in the folder would prevent an install script.
        assert "hasInstallScript" not in package, name


@pytest.mark.parametrize(
    "script",
    [
        "requirements/install-debian-packages",
        "requirements/find-python",
        "tests/machines/run",
        "tests/machines/all",
        "tests/streams",
        "tests/of-the-day",
        "tests/second-python",
        "tests/compiled-build",
        "tests/image/first-boot",
        "image/twice",
    ],
)
def test_the_set_up_scripts_are_sound(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", path], check=True, timeout=60)


def test_the_python_that_is_found_can_make_an_environment() -> None:
    outcome = subprocess.run(
        [ROOT / "requirements" / "find-python"], check=True, capture_output=True, timeout=60
    )
    version = subprocess.run(
        [outcome.stdout.strip(), "-V"], check=True, capture_output=True, text=True, timeout=60
    )
    assert re.match(r"Python 3\.1[1-3]\.", version.stdout)


def test_a_second_python_is_the_newest_of_another_version(tmp_path: Path) -> None:
    def python(name: str, version: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # The script asks for the version with `print`, and otherwise checks whether the Python is
        # usable.
        path.write_text(f"#!/bin/sh\ncase $2 in *print*) echo {version} ;; esac\n")
        path.chmod(0o755)
        return path

    own = python("own", "3.13")
    older = python("pyenv/versions/3.11.9/bin/python3", "3.11")
    newer = python("pyenv/versions/3.12.4/bin/python3", "3.12")
    python("pyenv/versions/3.13.1/bin/python3", "3.13")
    environment = {"PATH": "/nonexistent", "PYENV_ROOT": str(tmp_path / "pyenv")}

    def found() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", ROOT / "requirements" / "find-python", "--beside", own],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )

    assert found().stdout.strip() == str(newer)
    newer.unlink()
    assert found().stdout.strip() == str(older)
    older.unlink()
    assert (found().returncode, found().stdout) == (1, "")


def test_a_python_that_cannot_be_used_is_refused_in_one_line() -> None:
    outcome = subprocess.run(
        [ROOT / "requirements" / "find-python", "/nonexistent/python"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome.returncode == 1
    assert len(outcome.stderr.splitlines()) == 1
    assert "3.11 to 3.13" in outcome.stderr


def test_make_help_lists_targets_that_exist_and_at_most_20() -> None:
    outcome = subprocess.run(
        ["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    listed = re.findall(r"^  make ([a-z-]+) ", outcome.stdout, re.MULTILINE)
    assert 15 <= len(listed) <= 20
    rules = (ROOT / "Makefile").read_text()
    assert [name for name in listed if not re.search(rf"^{name}:", rules, re.MULTILINE)] == []

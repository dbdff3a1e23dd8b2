"""The packages that `make deb` has built."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITES = {"trixie": "0.1.0~deb13", "bookworm": "0.1.0~deb12"}
NEWER = "9.0~test"


def package_of(suite: str, arch: str) -> Path:
    path = ROOT / "dist" / f"oncegate_{SUITES[suite]}_{arch}.deb"
    assert path.exists(), f"make deb SUITE={suite} ARCH={arch}"
    return path


def run(*command: object) -> str:
    """Run a command on this machine and return its output. Asserts that the command succeeds."""
    outcome = subprocess.run(
        [str(each) for each in command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert outcome.returncode == 0, outcome.stdout
    return outcome.stdout


def newer_than(package: Path, folder: Path) -> Path:
    """Return a copy of the package with a higher version."""
    tree = folder / "newer"
    run("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {NEWER}", control.read_text()))
    path = folder / "newer.deb"
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, path)
    shutil.rmtree(tree)
    return path

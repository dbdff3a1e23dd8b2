"""The compiled core of a checkout: `oncegate up` builds it beside the first run, and every start
uses it while its sources are unchanged.

A build lies in `build/core/KEY` of the checkout. The key is a digest of everything that the build
depends on, so that a changed source has another key, and a stale build is never found. Installed
packages have their extensions beside the sources and nothing of this.
"""

import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD_SCRIPT: Final = "hatch_build.py"
"""In a checkout only; builds as `python hatch_build.py KEY`."""
SWITCH: Final = "ONCEGATE_COMPILE"
"""`0`: neither build the core nor use a build."""

_PACKAGES: Final = ("gateway/wire", "gateway/core")
_KEY_CHARACTERS: Final = 16


def is_wanted(root: Path = ROOT) -> bool:
    """Return whether this is a checkout, and the environment does not ask for plain Python."""
    return os.environ.get(SWITCH) != "0" and (root / BUILD_SCRIPT).is_file()


def sources_in(root: Path) -> list[Path]:
    """Return the files that a build depends on, relative to `root`, in a fixed order."""
    modules = [path for each in _PACKAGES for path in (root / each).rglob("*.py")]
    others = (BUILD_SCRIPT, "pyproject.toml", "gateway/__init__.py", "gateway/compiled_core.py")
    return [*map(Path, others), *sorted(each.relative_to(root) for each in modules)]


def key_of(root: Path = ROOT) -> str:
    """Return the digest of the sources, of this Python and of this processor."""
    digest = hashlib.sha256(f"{sys.version}\0{platform.machine()}\0".encode())
    for path in sources_in(root):
        content = (root / path).read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_KEY_CHARACTERS]


def folder_of(key: str, root: Path = ROOT) -> Path:
    """Return the folder for the build with this key. It may not exist yet."""
    return root / "build" / "core" / key


def use(package_path: list[str], root: Path = ROOT) -> None:
    """Import `gateway.wire` and `gateway.core` from the current build, if it exists."""
    if not is_wanted(root):
        return
    built = folder_of(key_of(root), root)
    if built.is_dir():
        package_path.insert(0, str(built / "gateway"))
        # The extensions share a module at the top, whose name is a digest of its own.
        sys.path.append(str(built))

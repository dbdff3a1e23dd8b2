"""Finds the compiled broker core in a source checkout, and makes Python import it.

The first `oncegate up` builds the core and stores it in `build/core/KEY` of the checkout. The key
is a digest of everything that the build depends on. If sources change, the key changes too, so an
outdated build is never used. Installed packages contain their compiled extensions and do not use
this module.
"""

import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD_SCRIPT: Final = "hatch_build.py"
"""The script that builds the core, as `python hatch_build.py KEY`. It exists only in a checkout."""
SWITCH: Final = "ONCEGATE_COMPILE"
"""Environment variable. If its value is `0`, no compiled core is built or used."""

_PACKAGES: Final = ("gateway/broker/wire", "gateway/broker/core")
_KEY_CHARACTERS: Final = 16


def is_wanted(root: Path = ROOT) -> bool:
    """Return True if `root` is a source checkout and ONCEGATE_COMPILE is not set to 0."""
    return os.environ.get(SWITCH) != "0" and (root / BUILD_SCRIPT).is_file()


def sources_in(root: Path) -> list[Path]:
    """Return the files that a build depends on, relative to `root`, in a fixed order."""
    modules = [path for each in _PACKAGES for path in (root / each).rglob("*.py")]
    modules_of_folders = ("__init__.py", "broker/__init__.py", "broker/compiled_core.py")
    others = (BUILD_SCRIPT, "pyproject.toml", *(f"gateway/{each}" for each in modules_of_folders))
    return [*map(Path, others), *sorted(each.relative_to(root) for each in modules)]


def key_of(root: Path = ROOT) -> str:
    """Return the key of a build: a digest of sources, Python version and processor type."""
    digest = hashlib.sha256(f"{sys.version}\0{platform.machine()}\0".encode())
    for path in sources_in(root):
        content = (root / path).read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_KEY_CHARACTERS]


def folder_of(key: str, root: Path = ROOT) -> Path:
    """Return the folder for the build with this key. The folder might not exist yet."""
    return root / "build" / "core" / key


def use(package_path: list[str], root: Path = ROOT) -> None:
    """Make Python import the broker's core from the current build, if the build exists.

    The build's folder is added to `package_path`, the `__path__` of `gateway.broker`. Imports of
    `gateway.broker.wire` and `gateway.broker.core` then find the compiled modules.
    """
    if not is_wanted(root):
        return
    built = folder_of(key_of(root), root)
    if built.is_dir():
        package_path.insert(0, str(built / "gateway" / "broker"))
        # The extensions share a top-level module, whose name is a digest.
        sys.path.append(str(built))

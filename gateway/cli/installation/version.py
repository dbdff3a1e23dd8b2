"""The version of this installation: version number, commit, and how the core was built.

hatch_build.py loads this file without the rest of the package. Therefore, other modules of the
package are imported only inside functions.
"""

import subprocess
from pathlib import Path
from typing import Final

COMMIT: Final = "ONCEGATE_COMMIT"
"""Environment variable with the commit, for a build outside of a repository, as for a Debian
package.
"""
COMMIT_FILE: Final = "gateway/commit"
"""File in a wheel or a Debian package that contains the commit from which it was built."""
GIT_SECONDS_MAX: Final = 5.0
"""Timeout for git, in seconds. If git takes longer, the version is printed without a commit."""


def version_text() -> str:
    """Return the output of `oncegate --version`.

    The output contains the version, the commit, and how the core was built.
    """
    from importlib.metadata import version

    from gateway.broker.server.host.compiled import COMPILED

    commit = commit_of(Path(__file__).resolve().parents[3])
    core = f"core: {'compiled' if COMPILED else 'plain Python'}"
    details = core if commit is None else f"commit {commit}, {core}"
    return f"oncegate {version('oncegate')} ({details})"


def commit_of(root: Path) -> str | None:
    """Return the commit of an installation or a checkout, or None if it is unknown.

    `-dirty` is appended if a checkout has uncommitted changes.
    """
    built = root / COMMIT_FILE
    if built.is_file():
        return built.read_text().strip() or None
    if not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        outcome = subprocess.run(
            git, check=False, capture_output=True, text=True, timeout=GIT_SECONDS_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return outcome.stdout.strip() or None

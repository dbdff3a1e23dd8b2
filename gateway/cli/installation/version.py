"""Version of this installation: its number, its commit, and the build of the core."""

import subprocess
from pathlib import Path
from typing import Final

COMMIT: Final = "ONCEGATE_COMMIT"
"""Variable of a build that has no repository, as in the chroot of a Debian package."""
COMMIT_FILE: Final = "gateway/commit"
"""File of a wheel or a Debian package with the commit that it was built from."""
GIT_SECONDS_MAX: Final = 5.0
"""Time for git to answer: the version is printed without a commit after it."""


def version_text() -> str:
    """Return what `oncegate --version` prints."""
    from importlib.metadata import version

    from gateway.broker.server.host.compiled import COMPILED

    commit = commit_of(Path(__file__).resolve().parents[3])
    core = f"core: {'compiled' if COMPILED else 'plain Python'}"
    details = core if commit is None else f"commit {commit}, {core}"
    return f"oncegate {version('oncegate')} ({details})"


def commit_of(root: Path) -> str | None:
    """Return the commit of an installation or a checkout, or None where it is unknown.

    A checkout with changes has `-dirty` after its commit.
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

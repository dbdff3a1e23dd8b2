"""The core that is compiled during a run of `oncegate up`."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.broker import compiled_core
from gateway.cli.supervision.core_build import build_in_background, is_missing, log_in

BUILDERS = {
    "builds": "import pathlib; pathlib.Path('build/core/KEY').mkdir(parents=True)",
    "refuses": (
        "import pathlib, sys; core = pathlib.Path('build/core'); core.mkdir(parents=True); "
        "(core / 'KEY.failed').touch(); sys.exit('no such type')"
    ),
    "fails": "import sys; sys.exit('No space left on device')",
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with a test program as the builder. The real builder has its own tests."""
    monkeypatch.delenv(compiled_core.SWITCH)
    for name in ("core", "wire"):
        (tmp_path / "gateway/broker" / name).mkdir(parents=True)
    own = ("pyproject.toml", "gateway/__init__.py", "gateway/broker/__init__.py")
    for path in (*own, "gateway/broker/compiled_core.py"):
        (tmp_path / path).touch()
    (tmp_path / compiled_core.BUILD_SCRIPT).touch()
    return tmp_path


def put_builder(checkout: Path, name: str) -> None:
    """Write a build script that calculates its own key, which depends on the script's text."""
    program = f"import sys\nsys.path.insert(0, {str(compiled_core.ROOT)!r})\n"
    program += "from gateway.broker.compiled_core import key_of\nimport pathlib\n"
    program += f"KEY = key_of(pathlib.Path({str(checkout)!r}))\n"
    program += (
        BUILDERS[name]
        .replace("'build/core/KEY'", "f'build/core/{KEY}'")
        .replace("'KEY.failed'", "f'{KEY}.failed'")
    )
    (checkout / compiled_core.BUILD_SCRIPT).write_text(program + "\n")


@pytest.mark.parametrize(
    ("builder", "last", "is_tried_again"),
    [
        ("builds", "the core is compiled: the next start uses it", False),
        ("refuses", "the core cannot be compiled and stays plain Python: see ", False),
        ("fails", "the core was not compiled; the next start tries again: see ", True),
    ],
)
async def test_a_line_reports_that_it_begins_and_one_how_it_ended(
    checkout: Path, builder: str, last: str, is_tried_again: bool
) -> None:
    put_builder(checkout, builder)
    assert is_missing(checkout)
    said: list[str] = []
    await build_in_background(said.append, checkout)
    assert said[0].startswith("the broker's core runs as plain Python; it is being compiled")
    assert said[1].startswith(last)
    assert len(said) == 2
    assert is_missing(checkout) is is_tried_again
    if builder != "builds":
        assert said[1].endswith(str(log_in(checkout)))
        assert log_in(checkout).read_text().strip()


async def test_when_the_gateway_stops_the_compiler_ends_with_its_own_processes(
    checkout: Path,
) -> None:
    program = (
        "import pathlib, subprocess, sys\n"
        f"child = subprocess.Popen([{sys.executable!r}, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "pathlib.Path('child.partial').write_text(str(child.pid))\n"
        "pathlib.Path('child.partial').rename('child')\n"
        "child.wait()\n"
    )
    (checkout / compiled_core.BUILD_SCRIPT).write_text(program)
    building = asyncio.create_task(build_in_background(lambda _: None, checkout))
    await _until((checkout / "child").exists)
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    child = Path("/proc") / (checkout / "child").read_text() / "cmdline"
    # The process has no command line any longer, or no entry in /proc.
    await _until(lambda: not child.exists() or not child.read_bytes())


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - a file of another process
            await asyncio.sleep(0.01)


def test_without_a_compiler_and_when_it_is_not_wanted_nothing_is_built(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert not is_missing(checkout)
    monkeypatch.delenv("CC")
    assert is_missing(checkout)
    monkeypatch.setenv(compiled_core.SWITCH, "0")
    assert not is_missing(checkout)


def test_an_installed_package_is_never_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(compiled_core.SWITCH)
    assert not is_missing(tmp_path)

"""The compiled core of a checkout: built for these sources only, and never used with others."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.broker import compiled_core

ROOT = Path(__file__).resolve().parents[2]
WHICH = (
    "import gateway.broker.core.value as core, gateway.broker.wire.number as wire;"
    "print(core.answer(), core.__file__.endswith('.so'), wire.__file__.endswith('.so'))"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout whose core has two modules."""
    for name in ("wire", "core"):
        (tmp_path / "gateway/broker" / name).mkdir(parents=True)
        (tmp_path / "gateway/broker" / name / "__init__.py").touch()
    own = ("hatch_build.py", "gateway/__init__.py", "gateway/broker/__init__.py")
    for path in (*own, "gateway/broker/compiled_core.py"):
        shutil.copyfile(ROOT / path, tmp_path / path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "gateway/broker/wire/number.py").write_text("NUMBER = 40\n")
    (tmp_path / "gateway/broker/core/value.py").write_text(
        "from gateway.broker.wire.number import NUMBER\n\n\n"
        "def answer() -> int:\n    return NUMBER + 2\n"
    )
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    around = {name: each for name, each in os.environ.items() if name != compiled_core.SWITCH}
    return around | changes


def which(checkout: Path, **changes: str) -> str:
    """Return the core that a program in the checkout imports, and the program's result.

    The program writes no bytecode, because Python would reuse it for a changed source of the same
    size and time.
    """
    done = subprocess.run(
        [sys.executable, "-B", "-c", WHICH],
        cwd=checkout, env=environment(**changes), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def build(checkout: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Build as the script does, but without optimisation and at normal priority."""
    code = (
        "import sys, pathlib, hatch_build; "
        "sys.exit(hatch_build.build_checkout(pathlib.Path(sys.argv[1])))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, checkout], cwd=checkout, capture_output=True, text=True,
        env=environment(ONCEGATE_COMPILE_LEVEL="0", **changes), check=False,
    )  # fmt: skip


def test_a_build_is_used_until_a_source_changes_and_again_when_it_is_back(checkout: Path) -> None:
    assert which(checkout) == "42 False False"
    stopped = checkout / "build/core/.partial-of-a-builder-that-was-stopped"
    stopped.mkdir(parents=True)
    made = build(checkout)
    assert made.returncode == 0, made.stderr
    assert not stopped.exists()
    assert which(checkout) == "42 True True"
    assert which(checkout, ONCEGATE_COMPILE="0") == "42 False False"
    source = checkout / "gateway/broker/core/value.py"
    before, times = source.read_text(), source.stat()
    source.write_text(before.replace("+ 2", "+ 3"))
    # Size and modification time stay the same.
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert which(checkout) == "43 False False"
    source.write_text(before)
    assert which(checkout) == "42 True True"
    (checkout / "gateway/broker/core/another.py").touch()
    assert which(checkout) == "42 False False"


def test_sources_that_cannot_be_compiled_are_noted_and_run_as_they_are(checkout: Path) -> None:
    broken = checkout / "gateway/broker/core/value.py"
    broken.write_text(broken.read_text() + "\n\nTEXT: int = 'none'\n")
    refused = build(checkout)
    assert refused.returncode == 1
    assert "Incompatible types in assignment" in refused.stdout + refused.stderr
    key = compiled_core.key_of(checkout)
    assert (checkout / "build/core" / f"{key}.failed").exists()
    assert which(checkout) == "42 False False"


def test_a_c_compiler_that_fails_leaves_nothing_that_is_imported(checkout: Path) -> None:
    script = [sys.executable, "-P", str(checkout / "hatch_build.py")]
    refused = subprocess.run(script, env=environment(CC="false"), capture_output=True, check=False)
    assert refused.returncode == 1
    key = compiled_core.key_of(checkout)
    kept = sorted(each.name for each in (checkout / "build/core").iterdir())
    assert kept == [".lock", f"{key}.failed"]


def test_an_installed_package_has_nothing_of_it(tmp_path: Path) -> None:
    path = ["before"]
    compiled_core.use(path, tmp_path)
    assert path == ["before"]


def test_every_module_of_the_core_is_a_source_of_the_build() -> None:
    sources = {str(each) for each in compiled_core.sources_in(ROOT)}
    assert {
        "gateway/broker/core/broker.py",
        "gateway/broker/wire/decoder.py",
        "hatch_build.py",
    } <= sources
    assert not any(each.startswith("gateway/broker/server") for each in sources)

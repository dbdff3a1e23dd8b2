"""Compiles `gateway.broker.wire` and `gateway.broker.core` with mypyc, as they are, for wheels and
checkouts, and records in a wheel the commit that it was built from.

The wheel holds each module twice, as source and as an extension, which Python prefers; where no C
compiler is there, or with ONCEGATE_COMPILE=0, it holds the source alone and runs just the same.

    python hatch_build.py

builds for this checkout, into `build/core/KEY` (gateway/broker/compiled_core.py), at the lowest
priority. It compiles a copy of the sources, and the key is that of the copy: an edit meanwhile
cannot get into the build of another key. An extension is never put beside its source, where it
would be imported after the source had changed.
"""

import fcntl
import importlib.util
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("gateway/broker/wire", "gateway/broker/core")
COMPILE = "ONCEGATE_COMPILE"
LEVEL = "ONCEGATE_COMPILE_LEVEL"
"""Variable with the level of optimisation, 0 to 3. Tests take 1, which compiles sooner."""
COMPILER_FLAGS = ["-fvisibility=hidden", "-fno-plt"]
"""Nobody else calls our functions, so the compiler may inline them into each other; and they call
CPython's all the time, so no stub stands between."""
PARTIAL = ".partial-"
"""Prefix of an unfinished build; the next builder removes it."""
BUILDS_KEPT = 4
"""Builds of earlier sources and of other Pythons: 20 MB each."""


def compile_packages(root: Path, folder: Path) -> Path:
    """Compile the packages below `root`; return the folder with the extensions."""
    from mypyc.build import mypycify  # noqa: PLC0415 - not needed for a plain wheel
    from setuptools import Distribution  # noqa: PLC0415

    before = Path.cwd()
    os.chdir(root)
    try:
        sources = [str(path) for name in PACKAGES for path in sorted(Path(name).rglob("*.py"))]
        extensions = mypycify(
            ["--ignore-missing-imports", *sources],
            opt_level=os.environ.get(LEVEL) or "3",
            target_dir=str(folder / "c"),
        )
        for extension in extensions:
            extension.extra_compile_args += COMPILER_FLAGS
        distribution = Distribution({"name": "oncegate", "ext_modules": extensions})
        command = distribution.get_command_obj("build_ext")
        command.build_lib = str(folder / "lib")
        command.build_temp = str(folder / "temp")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
    return folder / "lib"


class CompiledPackages(BuildHookInterface[Any]):
    """Adds the commit and the extensions to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel's files are gathered."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="oncegate-build-"))
        self._add_commit(build_data)
        if not self._is_wanted():
            return
        library = compile_packages(Path(self.root), self._folder)
        for extension in library.rglob("*.so"):
            build_data["force_include"][str(extension)] = str(extension.relative_to(library))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _add_commit(self, build_data: dict[str, Any]) -> None:
        own = _module_at(Path(self.root, "gateway", "cli", "installation", "version.py"))
        commit = os.environ.get(own.COMMIT) or own.commit_of(Path(self.root))
        if commit:
            file = self._folder / "commit"
            file.write_text(f"{commit}\n")
            build_data["force_include"][str(file)] = own.COMMIT_FILE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made on the way."""
        if hasattr(self, "_folder"):
            shutil.rmtree(self._folder)

    def _is_wanted(self) -> bool:
        wanted = os.environ.get(COMPILE, "")
        if wanted not in ("", "0", "1"):
            raise ValueError(f"{COMPILE} is {wanted!r}, expected 0, 1 or nothing")
        compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
        if wanted == "1" and compiler is None:
            raise FileNotFoundError(f"{COMPILE}=1, but there is no C compiler: install gcc")
        if wanted == "" and compiler is None:
            self.app.display_warning("no C compiler: the broker's core will run as plain Python")
        return wanted != "0" and compiler is not None


def build_checkout(root: Path) -> int:
    """Build the core of a checkout; the exit status. One process at a time builds."""
    from setuptools.errors import BaseError, CompileError, LinkError  # noqa: PLC0415 - not needed for a plain wheel

    core = _module_at(root / "gateway" / "broker" / "compiled_core.py")
    builds = root / "build" / "core"
    builds.mkdir(parents=True, exist_ok=True)
    with (builds / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        for left in builds.glob(f"{PARTIAL}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=builds) as partial:
            copy = Path(partial, "sources")
            for path in core.sources_in(root):
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / path, copy / path)
            target = core.folder_of(core.key_of(copy), root)
            try:
                compile_packages(copy, Path(partial)).rename(target)
            except (SystemExit, BaseError, CompileError, LinkError):
                # mypyc or the compiler refused these sources, and would refuse them again.
                traceback.print_exc()
                target.with_suffix(".failed").touch()
                return 1
        _remove_old(builds, kept=target)
    return 0


def _module_at(place: Path) -> ModuleType:
    """Load one file alone: importing `gateway.broker` would use a build."""
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _remove_old(builds: Path, *, kept: Path) -> None:
    """Remove all but the newest builds and marks of failures."""
    others = [each for each in builds.iterdir() if each not in (kept, builds / ".lock")]
    others.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    for each in others[BUILDS_KEPT:]:
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()


if __name__ == "__main__":
    os.nice(19)
    sys.exit(build_checkout(Path(__file__).resolve().parent))

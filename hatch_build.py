"""The wheel's build hook: `gateway.wire` and `gateway.core` compiled with mypyc, as they are.

The wheel holds each module twice, as source and as an extension, which Python prefers; where no C
compiler is there, or with ONCEGATE_COMPILE=0, it holds the source alone and runs just the same.
Everything is made in a folder of its own: an extension left beside its source would go on being
imported after the source had changed. An editable installation is therefore never compiled.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("gateway/wire", "gateway/core")
COMPILE = "ONCEGATE_COMPILE"
COMPILER_FLAGS = ["-fvisibility=hidden", "-fno-plt"]
"""Nobody else calls our functions, so the compiler may inline them into each other; and they call
CPython's all the time, so no stub stands between."""


class CompiledPackages(BuildHookInterface[Any]):
    """Adds the extensions to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel's files are gathered."""
        if version == "editable" or not self._is_wanted():
            return
        self._folder = Path(tempfile.mkdtemp(prefix="oncegate-mypyc-"))
        library = self._compile(self._folder)
        for extension in library.rglob("*.so"):
            build_data["force_include"][str(extension)] = str(extension.relative_to(library))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

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

    def _compile(self, folder: Path) -> Path:
        from mypyc.build import mypycify  # noqa: PLC0415 - not needed for a plain wheel
        from setuptools import Distribution  # noqa: PLC0415

        before = Path.cwd()
        os.chdir(self.root)
        try:
            sources = [str(path) for name in PACKAGES for path in sorted(Path(name).rglob("*.py"))]
            extensions = mypycify(
                ["--ignore-missing-imports", *sources],
                opt_level="3",
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

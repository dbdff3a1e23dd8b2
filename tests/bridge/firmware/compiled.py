"""Compiler calls for the C library's sources in tests, with every warning as an error."""

import subprocess
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware-bridge" / "firmware"
HERE = Path(__file__).parent
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
WARNINGS += ["-Wconversion", "-Wshadow", "-Wstrict-prototypes"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]


def compile_program(name: str, directory: Path, sources: Path = FIRMWARE / "src") -> Path:
    """Compile `name`.c together with the library under the sanitizers, and return the program's
    path."""
    program = directory / name
    library = sorted(str(path) for path in sources.glob("*.c"))
    run = ["cc", *WARNINGS, *SANITIZERS, f"-I{sources}", str(HERE / f"{name}.c"), *library]
    subprocess.run([*run, "-o", str(program)], check=True)
    return program

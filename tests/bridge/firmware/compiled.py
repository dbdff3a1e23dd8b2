"""The C library's sources, compiled for the tests: each warning is an error."""

import subprocess
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware-bridge" / "firmware"
HERE = Path(__file__).parent
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
WARNINGS += ["-Wconversion", "-Wshadow", "-Wstrict-prototypes"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1"]


def compile_program(name: str, directory: Path) -> Path:
    """Compile `name`.c with the library, under the sanitizers; return the program."""
    program = directory / name
    sources = sorted(str(path) for path in (FIRMWARE / "src").glob("*.c"))
    include = f"-I{FIRMWARE / 'src'}"
    run = ["cc", *WARNINGS, *SANITIZERS, include, str(HERE / f"{name}.c"), *sources]
    subprocess.run([*run, "-o", str(program)], check=True)
    return program

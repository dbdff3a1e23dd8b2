"""`make fuzz-board SECONDS=600` feeds random bytes to the C decoder under ASan and UBSan."""

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from tests.bridge.firmware.compiled import compile_program


def main(
    seconds: Annotated[int, typer.Option(min=1, help="How long.")] = 600,
    seed: Annotated[int | None, typer.Option(help="The dice; a new seed without it.")] = None,
) -> None:
    """Run the fuzzer. Exit with 1 if it finds a fault."""
    chosen = seed if seed is not None else time.time_ns() % 1_000_000
    typer.echo(f"seed {chosen}")
    with tempfile.TemporaryDirectory(prefix="oncegate-fuzz-") as directory:
        program = compile_program("fuzz_receive", Path(directory))
        run = subprocess.run([str(program), str(chosen), str(seconds), "0"], check=False)
    raise typer.Exit(1 if run.returncode else 0)


if __name__ == "__main__":
    typer.run(main)

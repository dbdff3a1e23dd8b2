"""The parent's end of a measured broker: start it, request its figures, stop it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[4]
BUILDS = {"plain": ROOT, "compiled": ROOT / "build" / "compiled"}


def environment_of(build: str) -> dict[str, str]:
    """Return an environment in which `gateway` is imported from one of the two builds."""
    path = os.pathsep.join(dict.fromkeys((str(BUILDS[build]), str(ROOT))))
    # Otherwise the plain run would use the checkout's compiled build.
    return {**os.environ, "PYTHONPATH": path, "ONCEGATE_COMPILE": "0"}


def command_of(module: str) -> list[str]:
    """Return the command that runs a module of this package."""
    return [sys.executable, "-P", "-m", f"tests.instruments.benchmarks.scale.{module}"]


class Watched:
    """A measured broker that runs inside a `with` block."""

    def __init__(self, data_dir: Path, build: str = "plain", **settings: object) -> None:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        self.process = subprocess.Popen(
            [*command_of("broker_under_watch"), str(data_dir), json.dumps(overrides)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment_of(build),
        )
        self.started = self._answer()
        self.port: int = self.started["port"]
        assert self.started["compiled"] == (build == "compiled")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(120)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the broker ended with {self.process.wait()}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def mark(self, word: str = "mark") -> dict[str, Any]:
        """Return the figures since the last mark."""
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self._answer()

    def kill(self) -> None:
        """Kill the broker, as a power cut does."""
        self.process.kill()
        self.process.wait()

"""Fuzzing one target for some time: a separate process, and the progress that it prints.

The process writes new inputs into `folder/inputs/TARGET`, so that the next run continues from them.
Inputs that raise are written into `folder/findings`.
"""

import asyncio
import contextlib
import os
import platform
import re
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.instruments.fuzz.scratch import scratch_root
from tests.instruments.fuzz.targets import ALL, Target

ROOT: Final = Path(__file__).resolve().parents[3]

INPUT_SECONDS_MAX: Final = 20
"""An input takes milliseconds. One that takes this long hangs, however busy the machine is."""

MEMORY_MEBIBYTES_MAX: Final = 1_024
"""Limit for the whole process, which uses about 70 MiB: more is a leak."""

GRACE_SECONDS: Final = 30
"""Time in addition to the fuzzing time: for the start, the seeds and the last input."""

LINES_KEPT: Final = 60
LINE_BYTES_MAX: Final = 1 << 20
PULSE: Final = re.compile(
    r"^#(?P<runs>\d+)\s+\w+\s+cov: (?P<coverage>\d+) .*corp: (?P<inputs>\d+)/.*"
    r"exec/s: (?P<per_second>\d+)"
)
FINDING: Final = re.compile(r"Test unit written to (?P<path>.+)$")


def why_not() -> str | None:
    """Return why this machine cannot run the fuzzer, or None if it can.

    Fuzzing is optional only where atheris has no wheel (requirements/dev.in). On other machines it
    must be installed.
    """
    here = (platform.python_implementation(), sys.platform, platform.machine())
    if here == ("CPython", "linux", "x86_64"):
        return None
    return f"atheris has no wheel for {' '.join(here)}: fuzzing needs CPython on Linux x86_64"


def state_of(process_id: int) -> str:
    """Return Linux's state of a process: running, sleeping or stopped."""
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("State"))


class Campaign:
    """One target, its process, and its progress."""

    def __init__(
        self, name: str, folder: Path, seconds: int, *, seed: int = 0, runs_max: int = 0
    ) -> None:
        self.name = name
        self.target: Target = ALL[name]
        self.folder = folder
        self.seconds = seconds
        self.seed = seed
        """The seed of libFuzzer's random numbers. 0 chooses a new seed for each run."""
        self.runs_max = runs_max
        """The number of runs after which the campaign ends, or 0 for no limit."""
        self.runs = 0
        self.coverage = 0
        self.inputs = 0
        self.per_second = 0
        self.finding: Path | None = None
        self.is_over = False
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    async def run(self) -> None:
        """Fuzz until the time is over or something is found.

        Raises:
            RuntimeError: the process ended in another way. The message has its last output.
        """
        root = scratch_root()
        with tempfile.TemporaryDirectory(prefix="oncegate-fuzz-", dir=root) as scratch:
            command = self._command(Path(scratch))
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=ROOT,
                # The parent of the targets' data directories, which a killed process does not
                # remove.
                env={**os.environ, "TMPDIR": scratch, "PYTHONHASHSEED": str(self.seed or "random")},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
            )
            try:
                await self._attend(process)
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()
        self.is_over = True
        if process.returncode and self.finding is None:
            words = "\n".join(self.lines)
            raise RuntimeError(f"fuzzing {self.name} ended with {process.returncode}:\n{words}")

    def _command(self, scratch: Path) -> list[str]:
        inputs = self.folder / "inputs" / self.name
        findings = self.folder / "findings"
        seeds = scratch / "seeds"
        for made in (inputs, findings, seeds):
            made.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(self.target.seeds()):
            (seeds / f"{number:04}").write_bytes(seed)
        return [
            *(sys.executable, "-m", "tests.instruments.fuzz.fuzzing_process", self.name),
            f"-max_total_time={self.seconds}",
            f"-runs={self.runs_max or -1}",
            f"-max_len={self.target.input_bytes_max}",
            f"-timeout={INPUT_SECONDS_MAX}",
            # Inputs that take less than this are not reported as slow.
            f"-report_slow_units={INPUT_SECONDS_MAX}",
            f"-rss_limit_mb={MEMORY_MEBIBYTES_MAX}",
            f"-seed={self.seed}",
            # Long inputs from the start, because a short program reaches little.
            "-len_control=0",
            f"-artifact_prefix={findings}/{self.name}-",
            str(inputs),
            str(seeds),
        ]

    async def _attend(self, process: asyncio.subprocess.Process) -> None:
        """Read the process's output until it ends.

        After the first timeout it reads once more. If this process was itself suspended, as in a
        terminal, the time is over but output is still waiting.
        """
        for patience_seconds in (self.seconds + GRACE_SECONDS, GRACE_SECONDS):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    await self._listen(process)
                    return
        words = "\n".join(self.lines)
        raise RuntimeError(
            f"fuzzing {self.name} did not end in its time ({state_of(process.pid)}):\n{words}"
        )

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None, "stderr is a pipe"
        async for raw in process.stderr:
            self.take(raw.decode(errors="replace").rstrip())
        await process.wait()

    def take(self, line: str) -> None:
        """Update the progress from a line of libFuzzer's output."""
        pulse = PULSE.match(line)
        if pulse is not None:
            self.runs = int(pulse["runs"])
            self.coverage = int(pulse["coverage"])
            self.inputs = int(pulse["inputs"])
            self.per_second = int(pulse["per_second"])
            return
        self.lines.append(line)
        finding = FINDING.search(line)
        if finding is not None:
            self.finding = Path(finding["path"])


async def run_all(
    campaigns: list[Campaign], show: Callable[[], None], every_seconds: float
) -> None:
    """Run several campaigns in parallel, and call `show` regularly."""
    running = [asyncio.create_task(campaign.run()) for campaign in campaigns]
    try:
        pending = set(running)
        while pending:
            _, pending = await asyncio.wait(pending, timeout=every_seconds)
            show()
        for task in running:
            task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

"""A tutorial as a reader follows it: files are saved, commands typed, their output compared.

In the page:

- A code block after "Save this as `NAME`:" is a file.
- A block of `console` has commands (`$ `, continued with `> `), each with its output.
- The command in a block after `<!-- keeps running -->` gets its own terminal until the end.
- The last command in a block after `<!-- fails -->` ends with an exit code other than 0.

In an output `...` matches any text, and a line of `...` matches any lines. A number other than 0
matches any other number except 0. Times and long hexadecimal numbers match any others.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.system.broker_process import free_port

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PORTS = ("1883", "1884", "8883", "8080", "8081")
"""Ports in the pages. Each reader replaces them with free ports."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"[Ss]ave this as `([^`]+)`[^`]*:\s*$")
KEEPS_RUNNING = "<!-- keeps running -->"
FAILS = "<!-- fails -->"
COMMAND_SECONDS_MAX = 240.0
"""The longest command is an ingestion, which starts Spark on a busy machine."""
STOP_SECONDS_MAX = 60.0
CTRL_C_WORKS = ("env", "--default-signal=INT")
"""Enables Ctrl-C.

Without job control, background processes start with SIGINT ignored, which may apply to the whole
test run.
"""
NEEDS_SPARK = re.compile(r"oncegate (ingest|gold|gaps) ")
PARTS = re.compile(
    r"(?P<any>\.\.\.)|(?P<date>\d{4}-\d\d-\d\d)|(?P<time>\d\d:\d\d:\d\d)"
    r"|(?P<hex>\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b)|(?P<number>\d+(?:[.,]\d+)*)"
)
PATTERNS = {
    "any": ".*",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"\d\d:\d\d:\d\d",
    "hex": "[0-9a-f]+",
}
ZERO = r"0(?:\.0+)?(?![\d.,]*\d)"
OTHER_THAN_ZERO = r"(?!0(?:\.0+)?(?![\d.,]*\d))\d+(?:[.,]\d+)*"


@dataclass(frozen=True)
class SavedFile:
    """A file that the reader saves."""

    name: str
    text: str


@dataclass
class Command:
    """A command and the output that the page shows."""

    line: str
    keeps_running: bool = False
    fails: bool = False
    output: list[str] = field(default_factory=list)


def free_ports() -> dict[str, int]:
    """Return a free port for each port in the pages."""
    return {port: free_port() for port in PORTS}


def steps_of(page: str) -> Iterator[SavedFile | Command]:
    """Yield files and commands in the order of the page."""
    end = 0
    for block in BLOCK.finditer(page):
        before = page[end : block.start()].rstrip()
        end = block.end()
        name = SAVED.search(before)
        if name is not None:
            yield SavedFile(name[1], block[2])
        elif block[1] == "console":
            commands = list(_commands_of(block[2]))
            assert commands, f"a block of console without a command: {block[2]!r}"
            commands[-1].fails = before.endswith(FAILS)
            commands[-1].keeps_running = before.endswith(KEEPS_RUNNING)
            yield from commands


def _commands_of(block: str) -> Iterator[Command]:
    command: Command | None = None
    for line in block.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command
            command = Command(line[2:])
        elif command is not None and line.startswith("> ") and not command.output:
            command.line += "\n" + line[2:]
        elif command is not None:
            command.output.append(line)
    if command is not None:
        yield command


def pattern_of(expected: str) -> re.Pattern[str]:
    """Return a pattern for the lines that a line of the page matches."""
    parts = []
    end = 0
    line = re.sub(r"\s+", " ", expected).strip()
    for match in PARTS.finditer(line):
        parts.append(re.escape(line[end : match.start()]))
        number = match["number"]
        if number is None:
            parts.append(PATTERNS[str(match.lastgroup)])
        else:
            parts.append(ZERO if re.fullmatch(r"0(?:\.0+)?", number) else OTHER_THAN_ZERO)
        end = match.end()
    return re.compile("".join([*parts, re.escape(line[end:])]) + "$")


def difference(expected: list[str], output: str) -> str | None:
    """Return the first difference between the page and the output, or None."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in output.splitlines()]
    lines = [line for line in lines if line]
    position = 0
    is_any = False
    for wanted in (line for line in expected if line.strip()):
        if wanted.strip() == "...":
            is_any = True
            continue
        pattern = pattern_of(wanted)
        places = range(position, len(lines) if is_any else min(position + 1, len(lines)))
        found = next((place for place in places if pattern.match(lines[place])), None)
        if found is None:
            return f"expected {wanted!r}, output:\n{output}"
        position, is_any = found + 1, False
    if position < len(lines) and not is_any:
        return f"not in the page: {lines[position]!r}, output:\n{output}"
    return None


class Reader:
    """Follows a tutorial in a separate directory."""

    def __init__(
        self,
        directory: Path,
        ports: Mapping[str, int],
        here: Callable[[list[str]], tuple[int, str]] | None = None,
    ) -> None:
        """Follow pages in `directory`.

        Args:
            directory: An empty directory.
            ports: The port to use for each port in a page.
            here: A function that runs the commands that need Spark in this process, which has a
                Spark session. It takes the arguments and returns exit code and output. With None
                these commands are processes like the others.
        """
        self._directory = directory
        self._ports = ports
        self._here = here
        self._running: list[tuple[subprocess.Popen[bytes], Path]] = []
        binaries = Path(sys.executable).parent
        self._environment = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "ONCEGATE_COMPILE": "0",
        }

    def follow(self, page: Path) -> None:
        """Carry out each step of a page.

        Raises:
            AssertionError: A command failed, or its output differs from the page's.
        """
        text = page.read_text()
        for written, port in self._ports.items():
            text = re.sub(rf"\b{written}\b", str(port), text)
        for step in steps_of(text):
            if isinstance(step, SavedFile):
                path = self._directory / step.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step.text)
            elif step.keeps_running:
                self.start(step)
            else:
                self._run(step)

    def stop(self) -> None:
        """Press Ctrl-C in each terminal, in reverse order."""
        while self._running:
            process, _ = self._running.pop()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(STOP_SECONDS_MAX)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _run(self, command: Command) -> None:
        code, output = self._outcome_of(command.line)
        said = f"$ {command.line}\n{output}\n{self._outputs()}"
        assert (code != 0) == command.fails, f"exit {code}: {said}"
        differs = difference(command.output, output)
        assert differs is None, f"$ {command.line}\n{differs}\n{self._outputs()}"

    def _outcome_of(self, line: str) -> tuple[int, str]:
        if self._here is not None and NEEDS_SPARK.match(line):
            with contextlib.chdir(self._directory):
                return self._here(shlex.split(line)[1:])
        outcome = subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=COMMAND_SECONDS_MAX,
        )
        return outcome.returncode, outcome.stdout.decode()

    def start(self, command: Command) -> None:
        """Start a command in a separate terminal, and wait for the output that the page shows."""
        path = self._directory / f".terminal-{len(self._running)}"
        with path.open("wb") as output:
            process = subprocess.Popen(
                [*CTRL_C_WORKS, "/bin/bash", "-c", command.line],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._running.append((process, path))
        deadline = time.monotonic() + COMMAND_SECONDS_MAX
        while (
            differs := difference(["...", *command.output, "..."], path.read_text())
        ) is not None:
            assert process.poll() is None, f"$ {command.line}\n{differs}"
            assert time.monotonic() < deadline, f"$ {command.line}\n{differs}"
            time.sleep(0.1)

    def _outputs(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()}" for _, path in self._running)

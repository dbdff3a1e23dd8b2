"""A tutorial as a reader follows it: files are saved, commands typed, their output compared.

In the page:

- "Save this as `NAME`:" before a code block is a file.
- A block of `console` has commands (`$ `, continued with `> `), each with its output.
- `<!-- keeps running -->` before a block: its command gets a terminal of its own until the end.
- `<!-- fails -->`: the last command of the block ends with another exit code than 0.

In an output `...` is any text, and a line of it any lines; a number other than 0 is any other
number than 0; times and long hexadecimal numbers are any.
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
"""Ports in the pages. Each reader gets free ones in place of them."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"[Ss]ave this as `([^`]+)`[^`]*:\s*$")
KEEPS_RUNNING = "<!-- keeps running -->"
FAILS = "<!-- fails -->"
COMMAND_SECONDS_MAX = 240.0
"""The longest command is an ingestion that starts Spark, on a machine that is busy."""
STOP_SECONDS_MAX = 60.0
CTRL_C_WORKS = ("env", "--default-signal=INT")
"""A shell without job control starts background processes, and so a whole run of the tests, with
SIGINT ignored."""
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
    """Return what a line of the page stands for."""
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
    """Return the first line of the page that the output does not have, or None."""
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
    """Follows a tutorial in a directory of its own."""

    def __init__(
        self,
        directory: Path,
        ports: Mapping[str, int],
        here: Callable[[list[str]], tuple[int, str]] | None = None,
    ) -> None:
        """Follow pages in `directory`.

        Args:
            directory: an empty one.
            ports: the port to use for each port that a page has.
            here: runs the commands that need Spark in this process, which has a session, from
                their arguments to exit code and output. None: they are processes like the others.
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
            AssertionError: a command failed, or its output differs from the page's.
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
        """Press Ctrl-C in each terminal, the last one first."""
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
        """Start a command in a terminal of its own, and wait for the output that the page shows."""
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

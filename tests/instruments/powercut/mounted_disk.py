"""The disk as tests use it: switch it on, arm a cut, make it fail, cut it, switch it on again.

Each time the disk is switched on, it starts from a folder, its medium. A cut writes the next
medium. The media of the last cuts are kept as evidence if something was lost.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

BEFORE_A_CHANGE = "before a change"
BEFORE_AN_FSYNC = "before an fsync"
AFTER_AN_FSYNC = "after an fsync"
"""After the data are durable, but before the process that called fsync can learn of it."""

MEMORY = Path("/dev/shm")  # noqa: S108
"""The folder for media, if it exists: a busy real disk would lengthen the moment of a cut."""

ANSWER_DEADLINE_SECONDS = 30.0
MEDIA_KEPT = 4


def why_not() -> str | None:
    """Return why no file system can be mounted on this machine, or None if one can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no access to /dev/fuse: run as root, on a kernel with FUSE"
    return None


def new_directory() -> Path:
    """Create a directory for a disk and its media.

    Its path must be short, because a Unix socket's path has at most 108 bytes.
    """
    parent = MEMORY if os.access(MEMORY, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="oncegate-powercut-", dir=parent))


class MountedDisk:
    """A drive process, and the folder where it is mounted."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.folder = directory / "disk"
        self.folder.mkdir()
        self.medium = directory / "medium-0"
        self.medium.mkdir()
        self.cut_count = 0
        self._log = directory / "drive.log"
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def switch_on(self, **faults: object) -> None:
        """Mount the medium. `faults` are fields of `tests.instruments.powercut.faults.Faults`."""
        assert self._process is None, "the disk is on"
        command = [sys.executable, "-m", "tests.instruments.powercut.drive"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.medium), str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=Path(__file__).parents[3],
                # Ctrl-C is handled by the parent, which ends this process in order.
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self._answers = queue.SimpleQueue()
        threading.Thread(
            target=_listen, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        self._await("ready")
        if faults:
            self.set(**faults)

    def set(self, **faults: object) -> None:
        """Change the faults of the disk."""
        self._tell("set", **faults)
        self._await("set")

    def arm(self, instant: str, count: int, seconds: float) -> None:
        """Arm a power cut at the n-th such moment from now, at the latest after `seconds`.

        `instant` is one of the constants above.
        """
        self._tell("arm", instant=instant, count=count, seconds=seconds)

    def await_dark(self) -> str:
        """Wait for the armed cut. Return the operation at which it happened."""
        return str(self._await("dark")["at"])

    def cut(self, seed: str) -> dict[str, int]:
        """Cut the power, choose by the seed what survives, and end the drive. Return what was lost.

        Kill the disk's users before, with SIGKILL and without waiting: they end with the drive.
        """
        self.cut_count += 1
        self.medium = self.directory / f"medium-{self.cut_count}"
        self._tell("cut", seed=seed, medium=str(self.medium))
        loss = self._await("cut")
        self._unmount()
        old = self.directory / f"medium-{self.cut_count - MEDIA_KEPT}"
        shutil.rmtree(old, ignore_errors=True)
        return {name: count for name, count in loss.items() if name != "event"}

    def remove(self) -> None:
        """Unmount the disk, whatever its state."""
        self._unmount()

    def forget(self) -> None:
        """Remove all media."""
        shutil.rmtree(self.directory)

    def _unmount(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(ANSWER_DEADLINE_SECONDS)
        assert process.stdin is not None
        process.stdin.close()
        subprocess.run(_unmount_command(self.folder), check=True, capture_output=True)

    def _tell(self, command: str, **arguments: object) -> None:
        assert self._process is not None, "the disk is off"
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self._process.stdin.flush()

    def _await(self, event: str) -> dict[str, Any]:
        while True:
            try:
                answer = self._answers.get(timeout=ANSWER_DEADLINE_SECONDS)
            except queue.Empty:
                raise AssertionError(f"the drive does not say {event!r}") from None
            assert answer is not None, f"the drive ended: {self._log.read_text()}"
            if answer["event"] == event:
                return answer


def _unmount_command(folder: Path) -> list[str]:
    # Unmount lazily, because a killed process may still be exiting.
    if os.geteuid() == 0:
        return ["umount", "--lazy", str(folder)]
    return ["fusermount3", "-u", "-z", str(folder)]


def _listen(stream: IO[str], answers: "queue.SimpleQueue[dict[str, Any] | None]") -> None:
    with stream:
        for line in stream:
            answers.put(json.loads(line))
    answers.put(None)

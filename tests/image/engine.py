"""One container of the image that `make container` has built, run with podman as in the
documentation.

Its storage belongs to the test. Its ports are on this machine's loopback, through slirp4netns.
"""

import contextlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

USER = 10001
STOP_SECONDS = 60
COMMAND_SECONDS_MAX = 300.0
# The strictest options: only the volume is writable, no capability, no new privileges.
CONFINED = (
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--network=slirp4netns",
)
# Restrictions of this machine: it may not raise limits, nor pass on control groups and systemd's
# timers.
HERE = ("--cgroups=disabled", "--ulimit=nofile=1024:4096", "--ulimit=nproc=1024:4096")


# crun requires control groups of version 2 only. The mounts end with this process.
_MOUNTS = """
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
echo ready
exec sleep infinity
"""


class Engine:
    """podman with the image loaded. `container` is the name of the only container."""

    container = "oncegate"

    def __init__(self, work: Path, archive: Path) -> None:
        self._mounts = subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", _MOUNTS], stdout=subprocess.PIPE, text=True
        )
        assert self._mounts.stdout is not None
        assert self._mounts.stdout.readline() == "ready\n"
        self.podman = (
            *("nsenter", f"--target={self._mounts.pid}", "--mount", "podman"),
            f"--root={work}/storage",
            f"--runroot={work}/run",
            f"--tmpdir={work}/libpod",
            "--storage-driver=overlay",
            "--cgroup-manager=cgroupfs",
            "--events-backend=file",
        )
        self.image = self.said("pull", "--quiet", f"oci-archive:{archive}").splitlines()[-1]

    def outcome(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.podman, *command],
            check=False,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
        )

    def said(self, *command: str, stdin: str = "") -> str:
        """Run a podman command and return its output. Asserts that the command succeeds."""
        outcome = self.outcome(*command, stdin=stdin)
        assert outcome.returncode == 0, f"{command}: {outcome.stdout}"
        return outcome.stdout.strip()

    def inspected(self, kind: str, name: str) -> Any:
        return json.loads(self.said(kind, "inspect", name))[0]

    def start(self, *options: str, arguments: Sequence[str] = ()) -> None:
        """Start a new container in place of an earlier one."""
        self.said("rm", "--force", "--ignore", "--time=0", self.container)
        self.said(
            "run",
            "--detach",
            f"--name={self.container}",
            f"--stop-timeout={STOP_SECONDS}",
            "--health-cmd=oncegate-healthy",
            "--health-interval=disable",
            *CONFINED,
            *HERE,
            *options,
            self.image,
            *arguments,
        )

    def is_healthy(self) -> bool:
        return self.outcome("healthcheck", "run", self.container).returncode == 0

    def port(self, inside: int) -> str:
        """Return this machine's loopback port that is forwarded to a port of the container."""
        address = self.said("port", self.container, f"{inside}/tcp")
        assert address.startswith("127.0.0.1:")
        return address.rpartition(":")[2]

    def log(self) -> str:
        return self.said("logs", self.container)

    def state(self) -> Any:
        return self.inspected("container", self.container)["State"]

    def processes(self) -> dict[int, tuple[int, str]]:
        """Return user and command line of each process in the container, by its process id on this
        machine.

        `podman top` would need a control group.
        """
        namespace = Path(f"/proc/{self.state()['Pid']}/ns/pid").readlink()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # The process has ended meanwhile.
                if (folder / "ns/pid").readlink() == namespace:
                    command = (folder / "cmdline").read_text().replace("\0", " ").strip()
                    found[int(folder.name)] = (folder.stat().st_uid, command)
        return found

    def remove(self) -> None:
        """Stop and remove the container, its image and its storage."""
        self.outcome("rm", "--force", "--ignore", "--time=0", self.container)
        self.outcome("rmi", "--all", "--force")
        self._mounts.kill()
        self._mounts.wait()
        assert self._mounts.stdout is not None
        self._mounts.stdout.close()

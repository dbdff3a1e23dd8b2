"""A Debian that boots in a container: systemd-nspawn on a root directory, with its own network.

systemd is process 1 there, and services are confined as on a device. Compared with a device it
lacks the hardware, and the control groups' limits if this machine does not pass them on.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

BOOT_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 300.0

_BOOT = """
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
group=/sys/fs/cgroup/oncegate-test-$$
mkdir "$group"
echo $$ >"$group/cgroup.procs"
exec systemd-nspawn --quiet --register=no --keep-unit --private-network --boot --console=pipe \
    --directory="$0"
"""
"""A shell script that boots in its own mounts: systemd 256 and newer start only if all control
groups are version 2."""

_ENVIRONMENT = (
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    "HOME=/root",
    "DEBIAN_FRONTEND=noninteractive",
)


def make_root(suite: str, tarball: Path, root: Path, packages: tuple[str, ...] = ()) -> None:
    """Unpack a Debian with systemd, Python and `packages` into `root`.

    It is downloaded once to `tarball`.
    """
    if not tarball.exists():
        tarball.parent.mkdir(parents=True, exist_ok=True)
        partial = tarball.with_suffix(".partial.tar")
        subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=minbase",
                f"--include={','.join(('python3', 'systemd', 'systemd-sysv', 'dbus', *packages))}",
                suite,
                partial,
            ],
            check=True,
            timeout=1800,
        )
        partial.rename(tarball)
    root.mkdir()
    subprocess.run(
        ["tar", "-C", root, "-xf", tarball, "--exclude=./dev/*"], check=True, timeout=300
    )


class Machine:
    """One container. `start` returns when it has booted, and `said` runs a command in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._init = 0

    def start(self) -> None:
        """Start the container and wait until its systemd is running."""
        self._nspawn = subprocess.Popen(
            ["unshare", "--mount", "--cgroup", "sh", "-euc", _BOOT, str(self.root)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + BOOT_SECONDS_MAX
        while not self._has_booted():
            assert self._nspawn.poll() is None, "the container ended while it booted"
            assert time.monotonic() < deadline, "the container did not boot"
            time.sleep(0.2)

    def _has_booted(self) -> bool:
        assert self._nspawn is not None
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text()
        for process in children.split():
            if Path(f"/proc/{process}/comm").read_text().strip() == "systemd":
                self._init = int(process)
        if not self._init:
            return False
        return self.said("systemctl", "is-system-running", check=False) in ("running", "degraded")

    def said(self, *command: str, check: bool = True, stdin: str = "") -> str:
        """Run a command in the machine, and return its standard output and standard error.

        With `check` it must succeed.
        """
        outcome = subprocess.run(
            [*self._enter("--all", "--wd=/"), "env", "-i", *_ENVIRONMENT, *command],
            check=False,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
        )
        assert not check or outcome.returncode == 0, f"{command}: {outcome.stdout}"
        return outcome.stdout.strip()

    def _enter(self, *namespaces: str) -> list[str]:
        return ["nsenter", f"--target={self._init}", *namespaces]

    def on_its_network(self, *command: str) -> subprocess.Popen[str]:
        """Run a command of this machine inside the container's network."""
        return subprocess.Popen(
            [*self._enter("--net"), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def stop(self) -> None:
        """Power the container off."""
        if self._nspawn is None:
            return
        if self._init and self._nspawn.poll() is None:
            self.said("systemctl", "poweroff", check=False)
        try:
            self._nspawn.wait(STOP_SECONDS_MAX)
        finally:
            self._nspawn.kill()
            self._nspawn.wait()
        self._nspawn = None

    def remove(self) -> None:
        """Stop the container and remove its root directory."""
        self.stop()
        for group in Path("/sys/fs/cgroup").glob("**/oncegate-test-*"):
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)
        shutil.rmtree(self.root, ignore_errors=True)

"""The installation of Debian packages: the packages requested, and the state after an interruption.

apt and dpkg are scripts here, in a root directory of the test. The real programs run in `make
machines`.
"""

import contextlib
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cloud_jobs.spark.java import JAVA_VERSIONS

SCRIPT = Path(__file__).resolve().parents[2] / "requirements" / "install-debian-packages"
DEADLINE_SECONDS = 30.0
OURS = (
    "#!/bin/sh\n# oncegate: removed when the installation of Debian packages has ended\nexit 101\n"
)
OTHERS = "#!/bin/sh\nexit 101\n"


@dataclass
class Machine:
    """A root directory, and a PATH with scripts in place of apt and dpkg."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def program(self, name: str, *lines: str) -> Path:
        path = self.root / "bin" / name
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(0o755)
        return path

    def offers(self, *packages: str) -> None:
        """Make apt offer these packages and no others."""
        known = "|".join(packages) or "none"
        self.program("apt-cache", f'case $2 in {known}) echo "  Candidate: 1.0" ;; esac')

    def run(self, *sections: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", SCRIPT, *sections],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.environment,
            timeout=DEADLINE_SECONDS,
        )

    @property
    def policy(self) -> Path:
        return self.root / "usr" / "sbin" / "policy-rc.d"

    @property
    def calls(self) -> list[str]:
        log = self.root / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without any package and without Java, whose apt offers nothing and whose
    user is not root."""
    for folder in ("bin", "run", "usr/sbin"):
        (tmp_path / folder).mkdir(parents=True)
    machine = Machine(tmp_path)
    machine.environment = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "DPKG_ROOT": str(tmp_path),
        "JAVA_HOME": str(tmp_path / "no-java"),
    }
    machine.program("dpkg-query", "exit 1")
    machine.program("sudo", "exit 1")
    machine.program("id", "echo 1000")
    machine.program("dpkg", f'echo "dpkg $*" >>{tmp_path}/calls')
    machine.program("systemctl")
    machine.program("update-rc.d")
    machine.program("apt-get", f'echo "apt-get $*" >>{tmp_path}/calls')
    machine.offers()
    return machine


@contextlib.contextmanager
def installing(machine: Machine, *shell: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run the script as root on a terminal of its own while apt installs. Yield the process and the
    terminal's master.

    apt continues when the file `go` appears, and records each signal that it receives. `shell` is
    the command that calls the script.
    """
    root = machine.root
    machine.program("id", "echo 0")
    machine.program(
        "apt-get",
        f'for name in HUP INT TERM; do trap "echo $name >>{root}/signals" $name; done',
        f'case "$*" in *" install "*) touch {root}/begun',
        f"while ! [ -e {root}/go ]; do sleep 0.02; done; touch {root}/finished ;; esac",
    )
    master, slave = pty.openpty()
    # Without this flag Linux sends the signal of Ctrl-C and then discards the output written
    # meanwhile.
    attributes = termios.tcgetattr(slave)
    attributes[3] |= termios.NOFLSH
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    process = subprocess.Popen(
        # A shell cannot trap a signal that was ignored at its start, as Ctrl-C is in the
        # background.
        ["env", "--default-signal=HUP,INT,TERM", "setsid", "--ctty", *shell, "sh", SCRIPT, "run"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=machine.environment,
    )
    os.close(slave)
    try:
        appears(root / "begun")
        yield process, master
    finally:
        (root / "go").touch()
        process.wait(DEADLINE_SECONDS)


def appears(path: Path, *, there: bool = True) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while path.exists() != there:
        assert time.monotonic() < deadline, f"{path} is {'not there' if there else 'still there'}"
        time.sleep(0.01)


def test_without_root_one_line_names_every_package_as_this_debian_has_it(machine: Machine) -> None:
    machine.offers("gcc", "chromium", "openjdk-17-jre-headless")
    outcome = machine.run("run", "test", "cloud", "run")
    assert outcome.returncode == 1
    (line,) = outcome.stderr.splitlines()
    assert "sudo apt-get update && sudo apt-get install" in line
    words = line.split()
    assert {"gcc", "chromium", "openjdk-17-jre-headless", "mosquitto"} <= {*words}
    assert not {"chromium-browser", "openjdk-21-jre-headless", "|"} & {*words}
    assert words.count("gcc") == 1


@pytest.mark.parametrize(
    ("offered", "named"),
    [
        (("openjdk-21-jre-headless", "default-jre-headless"), "openjdk-21-jre-headless"),
        (("openjdk-17-jre-headless", "default-jre-headless"), "openjdk-17-jre-headless"),
        ((), "default-jre-headless"),
    ],
    ids=["trixie", "bookworm", "no lists yet"],
)
def test_the_java_that_is_named_is_one_that_apt_has(
    machine: Machine, offered: tuple[str, ...], named: str
) -> None:
    machine.offers(*offered)
    assert machine.run("cloud").stderr.endswith(f" {named}\n")


@pytest.mark.parametrize(("version", "asks"), [("17.0.15", 0), ("21", 0), ("11.0.2", 1)])
def test_a_usable_java_of_java_home_is_taken(machine: Machine, version: str, asks: int) -> None:
    home = machine.root / "jvm"
    (home / "bin").mkdir(parents=True)
    java = machine.program("java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")
    java.rename(home / "bin" / "java")
    machine.environment["JAVA_HOME"] = str(home)
    assert machine.run("cloud").returncode == asks


def test_the_script_takes_the_versions_of_java_that_the_command_takes() -> None:
    versions = " ".join(map(str, JAVA_VERSIONS))
    assert f"java_versions='{versions}'" in SCRIPT.read_text()


def test_a_usable_java_of_path_is_taken(machine: Machine) -> None:
    del machine.environment["JAVA_HOME"]
    machine.program("java", "echo 'openjdk version \"21.0.2\" 2025-04-15' >&2")
    assert machine.run("cloud").returncode == 0


def test_services_are_kept_from_starting_during_the_installation_alone(machine: Machine) -> None:
    machine.program("id", "echo 0")
    machine.program("apt-get", f"cat {machine.policy} >>{machine.root}/seen")
    assert machine.run("run").returncode == 0
    assert (machine.root / "seen").read_text() == OURS * 2
    assert not machine.policy.exists()


def test_a_policy_of_another_program_stays(machine: Machine) -> None:
    machine.program("id", "echo 0")
    machine.policy.write_text(OTHERS)
    assert machine.run("run").returncode == 0
    assert machine.policy.read_text() == OTHERS


@pytest.mark.parametrize("something_is_missing", [True, False])
def test_a_policy_that_a_killed_installation_left_is_removed_by_the_next_start(
    machine: Machine, something_is_missing: bool
) -> None:
    machine.program("id", "echo 0")
    if not something_is_missing:
        machine.program("dpkg-query", "echo installed")
    machine.policy.write_text(OURS)
    assert machine.run("run").returncode == 0
    assert not machine.policy.exists()
    assert machine.calls[0] == "dpkg --configure -a"


def test_without_root_a_policy_that_was_left_is_named(machine: Machine) -> None:
    machine.program("dpkg-query", "echo installed")
    machine.policy.write_text(OURS)
    outcome = machine.run("run")
    assert outcome.returncode == 0
    assert f"sudo rm {machine.policy}" in outcome.stderr


def test_ctrl_c_lets_the_installation_finish_and_reports_it(machine: Machine) -> None:
    with installing(machine) as (process, master):
        read_until(master, b"Installing Debian packages")
        for _ in range(2):
            os.write(master, b"\x03")
            read_until(master, b"finishing the installation")
        assert machine.policy.exists()
        (machine.root / "go").touch()
        assert process.wait(DEADLINE_SECONDS) == 130
    assert (machine.root / "finished").exists()
    assert not (machine.root / "signals").exists()
    assert not machine.policy.exists()
    os.close(master)


def test_a_terminal_that_is_closed_lets_the_installation_finish(machine: Machine) -> None:
    # Bash ends with its terminal, and the kernel sends SIGHUP to the programs that it has called.
    with installing(machine, "sh", "-c", '"$@"; exit 0', "sh") as (shell, master):
        os.close(master)
        assert shell.wait(DEADLINE_SECONDS) == -signal.SIGHUP
        assert machine.policy.exists()
        (machine.root / "go").touch()
        appears(machine.root / "finished")
        appears(machine.policy, there=False)
    assert not (machine.root / "signals").exists()


def read_until(master: int, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        received += os.read(master, 4096)

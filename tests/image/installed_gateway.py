"""The gateway that a test has installed from its Debian package in a booted Debian."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.image.machine import Machine

SERVICES = ("broker", "bridge", "api", "upload")
DEADLINE_SECONDS = 60.0
WATCHDOG_SECONDS = 4
IDLE_WATCHDOG_SECONDS = WATCHDOG_SECONDS + 5
"""systemd counts an idle service as started up to 5 s before its program runs."""
UNIT_STOPPED = "9d1aaa27d60140bd96365438aad20286"
"""The message id for "a unit has been stopped" in systemd's catalogue."""


class Gateway:
    """The machine on which the package is installed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def install(self, package: Path) -> None:
        shutil.copy(package, self.machine.root / "root/oncegate.deb")
        self.machine.said(
            "apt-get", "-y", "--no-install-recommends", "install", "/root/oncegate.deb"
        )

    def property_of(self, service: str, name: str) -> str:
        return self.machine.said(
            "systemctl", "show", "--value", f"--property={name}", f"oncegate-{service}.service"
        )

    def states(self) -> dict[str, str]:
        return {name: self.property_of(name, "ActiveState") for name in SERVICES}

    def processes(self) -> dict[str, int]:
        return {name: int(self.property_of(name, "MainPID")) for name in SERVICES}

    def wait_until_running(self) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while set(self.states().values()) != {"active"} or not self.answers():
            assert time.monotonic() < deadline, self.journal()
            time.sleep(0.5)

    def wait_for_other_processes(self, before: dict[str, int]) -> None:
        """Wait until every service runs in another process than in `before`, and all of them
        respond."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while any(new in (before[name], 0) for name, new in self.processes().items()):
            assert time.monotonic() < deadline, self.journal()
            time.sleep(0.5)
        self.wait_until_running()

    def stop(self) -> None:
        """Stop all services. systemd stops a target before the services that belong to it."""
        self.machine.said("systemctl", "stop", "oncegate.target")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while set(self.states().values()) != {"inactive"}:
            assert time.monotonic() < deadline, self.journal()
            time.sleep(0.2)

    @contextmanager
    def short_watchdogs(self) -> Iterator[None]:
        """Restart all services with a watchdog of a few seconds, and restart them without it
        afterwards."""
        units = self.machine.root / "etc/systemd/system"
        watchdogs = {
            units / "oncegate-.service.d": WATCHDOG_SECONDS,
            units / "oncegate-upload.service.d": IDLE_WATCHDOG_SECONDS,
        }
        for folder, seconds in watchdogs.items():
            folder.mkdir(parents=True)
            (folder / "99-test.conf").write_text(f"[Service]\nWatchdogSec={seconds}s\n")
        self._start_again()
        yield
        for folder in watchdogs:
            shutil.rmtree(folder)
        self._start_again()

    def _start_again(self) -> None:
        self.machine.said("systemctl", "daemon-reload")
        self.stop()
        self.machine.said("systemctl", "start", "oncegate.target")
        self.wait_until_running()

    def answers(self) -> bool:
        said = self.machine.said(
            "/usr/lib/oncegate/bin/python3",
            "-c",
            "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/readyz').status)",
            check=False,
        )
        return said == "200"

    def stopped(self) -> list[str]:
        """Return the names of the services that systemd has stopped, in the order in which they
        ended."""
        lines = self.machine.said("journalctl", "-o", "json", f"MESSAGE_ID={UNIT_STOPPED}")
        units = [str(json.loads(line)["UNIT"]) for line in lines.splitlines()]
        named = [unit.removesuffix(".service").removeprefix("oncegate-") for unit in units]
        return [name for name in named if name in SERVICES]

    def journal(self) -> str:
        return self.machine.said("journalctl", "--no-pager", "-u", "oncegate-*", "-n", "80")

    def publish(self, topic: str, payload: str) -> None:
        publisher = self.machine.on_its_network(
            "mosquitto_pub", "-t", topic, "-m", payload, "-q", "2", "-r"
        )
        assert publisher.wait(DEADLINE_SECONDS) == 0

    def received(self, topic: str) -> str:
        """Return the first message on a topic."""
        subscriber = self.machine.on_its_network(
            "mosquitto_sub", "-t", topic, "-q", "2", "-C", "1", "-W", str(int(DEADLINE_SECONDS))
        )
        said, _ = subscriber.communicate(timeout=2 * DEADLINE_SECONDS)
        return said.strip()

    def configure(self, text: str) -> None:
        path = self.machine.root / "etc/oncegate/gateway.toml"
        path.write_text(path.read_text() + text)

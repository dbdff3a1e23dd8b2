"""The broker under attack: a separate process with every kind of listener, and its measurements."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.instruments.benchmarks.hostile.attack import Target
from tests.instruments.benchmarks.hostile.site import Site
from tests.system.broker_process import (
    START_DEADLINE_SECONDS,
    BrokerProcess,
    free_port,
    oncegate_command,
)

CLEAR_HIGH_WATER: Final = "5"
"""Written to clear_refs, so that the kernel resets VmHWM to the resident memory (proc(5))."""


class BesiegedBroker(BrokerProcess):
    """`oncegate broker` with every kind of listener.

    `gateway` is imported from the folder `code`.
    """

    def __init__(self, code: Path, data_directory: Path, *, mqtt: str = "", more: str = "") -> None:
        """`mqtt` has settings for `[mqtt]`, and `more` sections, both added to those of `site`."""
        self._code = code
        super().__init__("", data_directory=data_directory)
        self.target = Target(
            port=self.port,
            password_port=free_port(),
            proxy_port=free_port(),
            guarded_port=free_port(),
            websocket_port=free_port(),
            tls_port=free_port(),
            certificates_port=free_port(),
            page_port=free_port(),
            unix_path=str(self.directory / "mqtt.sock"),
            folder=str(self.directory),
        )
        self.site = Site(self.directory)
        self._page: subprocess.Popen[bytes] | None = None
        assert self._configuration is not None
        with self._configuration.open("a") as file:
            file.write(self.site.settings(self.target, mqtt=mqtt, more=more))

    @property
    def _environment(self) -> dict[str, str]:
        return {"PYTHONPATH": f"{self._code}:{self._code / 'firmware-bridge'}"}

    def spawn(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the broker on the code that is measured."""
        super().spawn({**(environment or {}), **self._environment})

    def start_page(self) -> None:
        """Start the broker's status page, and wait until it accepts connections."""
        with (self.directory / "page.log").open("ab") as log:
            self._page = subprocess.Popen(
                [*oncegate_command(), "api", "--config", str(self._configuration)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **self._environment},
                cwd=self.directory,
            )
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while time.monotonic() < deadline and self.page_is_running:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.target.page_port)):
                    return
            time.sleep(0.05)
        raise AssertionError(f"the page does not answer: {self.page_log()}")

    @property
    def page_is_running(self) -> bool:
        """True while the page's process is alive."""
        return self._page is not None and self._page.poll() is None

    def page_log(self) -> str:
        """Return what the page has written to its log."""
        return (self.directory / "page.log").read_text(errors="replace")

    def remove(self) -> None:
        """Kill both processes if they run, and remove their directory."""
        if self._page is not None:
            self._page.kill()
            self._page.wait()
        super().remove()

    def memory(self) -> dict[str, int]:
        """Return resident memory in bytes: now, and the most since `forget_high_water`."""
        status = Path(f"/proc/{self.process_id}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return {
            "now_bytes": int(fields["VmRSS"].split()[0]) * 1024,
            "most_bytes": int(fields["VmHWM"].split()[0]) * 1024,
        }

    def forget_high_water(self) -> None:
        """Restart the measurement of the most resident memory."""
        Path(f"/proc/{self.process_id}/clear_refs").write_text(CLEAR_HIGH_WATER)

    def processor_seconds(self) -> float:
        """Return the processor seconds that all threads of the process have used."""
        fields = Path(f"/proc/{self.process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def counted(self) -> dict[str, int]:
        """Return the broker's counts of protocol errors, refused connections and drops."""
        status: dict[str, Any] = self.ask("status")
        dropped = {
            f"dropped ({name})": count for name, count in status["messages"]["dropped"].items()
        }
        refused = {"connections refused": status["connections"]["refused"]}
        return {**status["errors"], **dropped, **refused}


@contextmanager
def besieged(
    code: Path, data_directory: Path, *, mqtt: str = "", more: str = ""
) -> Iterator[BesiegedBroker]:
    """Yield a running broker with its page. The caller removes the data directory."""
    broker = BesiegedBroker(code, data_directory, mqtt=mqtt, more=more)
    try:
        broker.start()
        broker.start_page()
        yield broker
    finally:
        broker.remove()

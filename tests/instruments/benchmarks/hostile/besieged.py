"""The broker under attack: a process of its own with every kind of listener, and its figures."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from gateway.access.passwords import set_password
from tests.instruments.benchmarks.hostile.attack import Target
from tests.system.broker_process import BrokerProcess, free_port

CLEAR_HIGH_WATER: Final = "5"
"""Written to clear_refs: the kernel sets VmHWM back to what is resident now (proc(5))."""


def go_first(process_id: int) -> None:
    """Let the threads that a process has now run in real time, where this user may say so.

    Other programs, attackers included, get what is left. Niceness would not do: Linux weighs it
    within one terminal's session only (sched(7), autogroup). What these threads start later, such
    as checks of passwords, is scheduled as usual.
    """
    policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
    for task in Path(f"/proc/{process_id}/task").iterdir():
        with suppress(PermissionError):
            os.sched_setscheduler(int(task.name), policy, os.sched_param(1))


class BesiegedBroker(BrokerProcess):
    """`oncegate broker` with listeners for everybody; `gateway` is imported from `code`."""

    def __init__(self, code: Path, data_directory: Path) -> None:
        self._code = code
        super().__init__("", data_directory=data_directory)
        self.target = Target(
            self.port, free_port(), free_port(), free_port(), str(self.directory / "mqtt.sock")
        )
        passwords = self.directory / "passwords"
        set_password(passwords, "known", b"the right one")
        set_password(passwords, "user1", b"the right one", scram_iterations=4_096)
        assert self._configuration is not None
        with self._configuration.open("a") as file:
            file.write(_listeners(self.target, passwords))

    def spawn(self, environment: Mapping[str, str] | None = None) -> None:
        """Start it on the code that is to be measured."""
        super().spawn({**(environment or {}), "PYTHONPATH": str(self._code)})

    def memory(self) -> dict[str, int]:
        """Resident memory now and at its highest since `forget_high_water`, in bytes."""
        status = Path(f"/proc/{self.process_id}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return {
            "now_bytes": int(fields["VmRSS"].split()[0]) * 1024,
            "most_bytes": int(fields["VmHWM"].split()[0]) * 1024,
        }

    def forget_high_water(self) -> None:
        """Begin to look for the highest memory anew."""
        Path(f"/proc/{self.process_id}/clear_refs").write_text(CLEAR_HIGH_WATER)

    def processor_seconds(self) -> float:
        """What the process used so far, all of its threads."""
        fields = Path(f"/proc/{self.process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def counted(self) -> dict[str, int]:
        """What the broker counts of mistakes, refusals and drops."""
        status: dict[str, Any] = self.ask("status")
        dropped = {
            f"dropped: {name}": count for name, count in status["messages"]["dropped"].items()
        }
        refused = {"connections refused": status["connections"]["refused"]}
        return {**status["errors"], **dropped, **refused}


def _listeners(target: Target, passwords: Path) -> str:
    return f"""
[access]
password_file = "{passwords}"
[[listeners]]
port = {target.password_port}
anonymous = false
[[listeners]]
port = {target.proxy_port}
proxy_protocol = true
allow_anonymous_network = true
[[listeners]]
port = {target.websocket_port}
protocol = "websocket"
[[listeners]]
protocol = "unix"
path = "{target.unix_path}"
"""


@contextmanager
def besieged(code: Path, data_directory: Path) -> Iterator[BesiegedBroker]:
    """A broker that runs for as long as the block lasts; its data stay until the caller's end."""
    broker = BesiegedBroker(code, data_directory)
    try:
        broker.start()
        go_first(broker.process_id)
        yield broker
    finally:
        broker.remove()

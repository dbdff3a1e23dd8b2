"""An administrator's requests that systemd carries out, on the machine with the package."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.event_loop.event_loop import UPKEEP_SECONDS
from tests.image.installed_gateway import DEADLINE_SECONDS, Gateway

REQUESTS = "/run/oncegate/requests"
ASK = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); "
    "s.connect('/run/oncegate/operate.sock'); s.sendall(sys.argv[1].encode() + b'\\n'); "
    "print(s.recv(4096).decode())"
)


@contextmanager
def person(gateway: Gateway, role: str) -> Iterator[None]:
    """Give the user ben a password and a role at the page."""
    machine = gateway.machine
    written = machine.root / "etc/oncegate/gateway.toml"
    before = written.read_text()
    set_password(machine.root / "etc/oncegate/passwords", "ben", b"secret")
    machine.said("chown", "root:oncegate-broker", "/etc/oncegate/passwords")
    machine.said("chmod", "640", "/etc/oncegate/passwords")
    text = before.replace("[api]\n", f'[api]\n{role}s = ["ben"]\n')
    written.write_text(text + '\n[access]\npassword_file = "/etc/oncegate/passwords"\n')
    machine.said("systemctl", "reload", "oncegate-broker")
    time.sleep(2 * UPKEEP_SECONDS)
    yield
    written.write_text(before)
    machine.said("systemctl", "reload", "oncegate-broker")


@contextmanager
def rebooting_in_vain(gateway: Gateway) -> Iterator[None]:
    """Make a requested reboot create a file, because a reboot would end the machine."""
    drop_in = gateway.machine.root / "etc/systemd/system/oncegate-reboot.service.d"
    drop_in.mkdir(parents=True)
    acts = (
        f"ExecStart=/usr/bin/rm -f {REQUESTS}/reboot\nExecStart=/usr/bin/touch {REQUESTS}/rebooted"
    )
    (drop_in / "test.conf").write_text(f"[Service]\nExecStart=\n{acts}\n")
    gateway.machine.said("systemctl", "daemon-reload")
    yield
    shutil.rmtree(drop_in)
    gateway.machine.said("systemctl", "daemon-reload")


def asked(gateway: Gateway, *commands: str) -> set[str]:
    """Send requests as the page does.

    When all are done, return the files that remain in the directory of requests.
    """
    machine = gateway.machine
    as_page = ["setpriv", "--reuid=oncegate-api", "--regid=oncegate-api"]
    as_page += ["--groups=oncegate-operate", "/usr/bin/python3", "-c", ASK]
    who = '"by": "ben", "role": "administrator", "from": "192.0.2.7"'
    for command in commands:
        said = machine.said(*as_page, f'{{"command": "{command}", {who}}}')
        assert '"requested": true' in said or '"requested":true' in said, said
    deadline = time.monotonic() + DEADLINE_SECONDS
    while left := set(machine.said("ls", REQUESTS).split()) & {*commands}:
        assert time.monotonic() < deadline, (left, gateway.journal())
        time.sleep(0.2)
    return set(machine.said("ls", REQUESTS).split())

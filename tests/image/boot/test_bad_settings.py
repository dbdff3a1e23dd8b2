"""A gateway.toml with a mistake, and a missing one.

The gateway starts without opening anything to the network, writes the mistake where it can be read
without a network, and accepts the file after it is fixed.
"""

import contextlib
import socket
import time
from pathlib import Path

import pytest

from tests.image.boot.card import Card
from tests.image.boot.conftest import SERVICES, provisioning_file
from tests.image.boot.machine import MQTT, PAGE, SSH, powered

pytestmark = pytest.mark.timeout(1800)
SETTLED_SECONDS_MIN, SETTLED_BOOTS = 150.0, 2
"""Time for four services to start and for the kernel to write the journal to the card. It is at
least SETTLED_SECONDS_MIN and SETTLED_BOOTS times as long as the boot: the host may be busy."""
MISTAKE = '[device]\nhostname = "Cabinet 7"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [(MISTAKE, "gateway.toml was not taken"), (None, "There is no gateway.toml")],
    ids=["with a mistake", "missing"],
)
def test_a_gateway_without_settings_runs_closed_and_takes_them_later(
    image: Path, tmp_path: Path, key: Path, text: str | None, said: str
) -> None:
    card = Card(image, tmp_path / "card.img")
    if text is None:
        card.remove("gateway.toml")
    else:
        card.put("gateway.toml", text)
    began = time.monotonic()
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_for_console(said)
        machine.wait_for_console("login:")
        # No user can log in here, so the services are checked later in the journal of this boot,
        # which has to be on the card by then.
        boot_seconds = time.monotonic() - began
        time.sleep(max(SETTLED_SECONDS_MIN, SETTLED_BOOTS * boot_seconds))
        assert [port for port in (PAGE, MQTT, SSH) if answers(machine.port(port))] == []
    if text is not None:
        assert b"[device] hostname" in card.get("gateway-report.txt")
    card.put("gateway.toml", provisioning_file(key))
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        assert machine.run("hostname") == "cabinet-7"
        before = machine.run("journalctl --boot=-1 --identifier=systemd --output=cat")
        for service in SERVICES:
            assert f"Started {service}.service" in before
        machine.power_off()


def answers(port: int) -> bool:
    """Return True if a request to the port is answered with at least one byte.

    QEMU itself accepts every connection.
    """
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return bool(line.recv(1))
    return False

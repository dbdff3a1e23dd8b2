"""A GPS on the header's UART that sends from power-on: the card boots, and reads the GPS if
configured to."""

import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.image.boot.card import Card
from tests.image.boot.conftest import PASSWORD, USER, provisioning_file
from tests.image.boot.machine import MQTT, powered

pytestmark = pytest.mark.timeout(1800)

SENTENCE = b"$GPGGA,092725.00,4717.11399,N,00833.91590,E,1,08,1.01,499.6,M,48.0,M,,*5B\r\n"
CTRL_C = b"\x03"
SENTENCES_PER_SECOND = 6
"""A receiver at 9600 baud sends most of the time."""
FOR_SENSORS = """
[console]
uart = "sensors"
[[serial]]
name = "gps"
path = "{path}"
framing = "nmea"
baud_rate = 9600
"""


class Receiver:
    """A GPS at the other end of the UART, which sends from power-on.

    `heard` has the console's output.
    """

    def __init__(self, line: Path, between: bytes = b"") -> None:
        self._line = line
        self._sent = SENTENCE + between
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._talk)]
        self.heard = b""

    def __enter__(self) -> "Receiver":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)

    def wait_to_hear(self, wanted: bytes, seconds: float) -> None:
        until = time.monotonic() + seconds
        while wanted not in self.heard:
            assert time.monotonic() < until, self.heard[-3000:].decode(errors="replace")
            time.sleep(0.1)

    def _talk(self) -> None:
        with socket.socket(socket.AF_UNIX) as line:
            while not self._ended.is_set():
                try:
                    line.connect(str(self._line))
                    break
                except OSError:
                    self._ended.wait(0.1)
            line.settimeout(1 / SENTENCES_PER_SECOND)
            while not self._ended.is_set():
                try:
                    self.heard += line.recv(65536)
                except TimeoutError:
                    pass
                except OSError:
                    return
                try:
                    line.sendall(self._sent)
                except TimeoutError:
                    continue
                except OSError:
                    return


@pytest.mark.parametrize("between", [b"", CTRL_C], ids=["gps", "ctrl-c"])
@pytest.mark.parametrize("environment", ["whole", "damaged"])
def test_u_boot_starts_a_slot_while_a_gps_sends_on_its_console(
    card: Card, tmp_path: Path, key: Path, between: bytes, environment: str
) -> None:
    if environment == "damaged":
        card.put("uboot.env", b"\xff" * 0x4000)
    with (
        powered(card, tmp_path, "raspi3b", key=key, uart=True) as machine,
        Receiver(machine.uart, between) as receiver,
    ):
        receiver.wait_to_hear(b"Starting slot A", 120)


def test_the_card_reads_a_gps_on_the_uart_that_was_given_to_sensors(
    image: Path, tmp_path: Path, key: Path
) -> None:
    card = Card(image, tmp_path / "card.img")
    # The UART of `virt`. On a real board it is /dev/ttyS1.
    card.put("gateway.toml", provisioning_file(key) + FOR_SENSORS.format(path="/dev/ttyAMA0"))
    with powered(card, tmp_path, key=key, uart=True) as machine, Receiver(machine.uart) as receiver:
        machine.wait_until_healthy()
        assert "ttyAMA0" not in machine.run("cat /sys/class/tty/console/active")
        state = machine.run("systemctl is-active serial-getty@ttyAMA0", check=False)
        assert state == "inactive"
        command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(machine.port(MQTT)), "-C", "3"]
        command += ["-u", USER, "-P", PASSWORD, "-t", "sensors/gps/#", "-W", "120"]
        got = subprocess.run(command, capture_output=True, text=True, check=True)
        assert len(got.stdout.splitlines()) == 3
        before = len(receiver.heard)
        machine.run("logger -p kern.emerg hello; echo '<0>hello' >/dev/kmsg")
        assert b"hello" not in receiver.heard[before:]
        machine.power_off()
    assert b"UART on the header: for sensors" in card.get("gateway-report.txt")

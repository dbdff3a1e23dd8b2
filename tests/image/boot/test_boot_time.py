"""Time from power-on to the first accepted message, compared with a Debian that only boots."""

import contextlib
import socket
import statistics
import time
from pathlib import Path

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connect, Puback, Publish
from tests.image.boot.bare_debian import BareDebian
from tests.image.boot.card import Card
from tests.image.boot.conftest import PASSWORD, USER
from tests.image.boot.machine import MQTT, Machine, powered

pytestmark = pytest.mark.timeout(3600)
ROUNDS = 3
RATIO_MAX = 1.25
VERSION = 4


def test_the_first_message_is_accepted_soon_after_a_bare_debian_is_up(
    card: Card, tmp_path: Path, key: Path
) -> None:
    # The first boot is not measured: it provisions, creates keys and grows the data partition.
    with powered(card, tmp_path, key=key) as machine:
        machine.wait_until_healthy()
        machine.power_off()
    bare = BareDebian(tmp_path)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        with powered(card, tmp_path, key=key, bare=bare) as machine:
            theirs.append(machine.wait_for_console("login:"))
        with powered(card, tmp_path, key=key) as machine:
            ours.append(_seconds_to_first_puback(machine))
            machine.power_off()
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"first PUBACK after {_listed(ours)} s, bare Debian up after {_listed(theirs)} s")
    print(f"ratio of the medians: {ratio:.2f}")
    assert ratio <= RATIO_MAX


def _listed(seconds: list[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in seconds)


def _seconds_to_first_puback(machine: Machine) -> float:
    while time.monotonic() - machine.started < 900:
        with contextlib.suppress(OSError):
            if _publishes(machine.port(MQTT)):
                return time.monotonic() - machine.started
        time.sleep(0.2)
    raise AssertionError(f"no PUBACK\n{machine.text()[-3000:]}")


def _publishes(port: int) -> bool:
    """Return True if a QoS 1 message on a new connection is acknowledged."""
    with socket.create_connection(("127.0.0.1", port), timeout=3) as connection:
        connect = Connect(VERSION, "first", True, 0, None, USER, PASSWORD.encode())
        message = Publish("first", b"1", 1, False, False, 1)
        connection.sendall(encode(connect, VERSION) + encode(message, VERSION))
        decoder = Decoder(1 << 16, VERSION, "client")
        while data := connection.recv(4096):
            if any(isinstance(packet, Puback) for packet in decoder.feed(data)):
                return True
    return False

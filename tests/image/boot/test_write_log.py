"""The power is cut and the card loses the writes that were not flushed: no reading is lost or
duplicated.

`test_power_cuts.py` kills the machine, and everything written to its card remains. Here every write
and flush of one machine is logged. For each cut the data partition is rebuilt from the log as a
card may have stored it, and a broker and a bridge on the host continue with it.
"""

import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.image.boot.card import DATA_OFFSET, Card
from tests.image.boot.conftest import PASSWORD, USER
from tests.image.boot.machine import MQTT, powered
from tests.image.boot.sensor import Board
from tests.image.boot.subscriber import Subscriber
from tests.image.boot.write_log import Partition, WriteLog
from tests.system.broker_process import free_port, oncegate_command

pytestmark = pytest.mark.timeout(3600)
CUTS = int(os.environ.get("CUTS", "20"))
FRAME_SECONDS = 0.2
LOAD_SECONDS = 180.0
BRIDGE_USER = "oncegate-bridge"
QUANTITIES = ("humidity", "pressure", "temperature")


@dataclass(frozen=True)
class Promise:
    """A moment at which the log had `log_position` bytes and every frame up to number `frames` had
    been acknowledged."""

    log_position: int
    frames: int


def test_a_card_that_forgets_what_was_not_flushed_loses_and_doubles_nothing(
    card: Card, tmp_path: Path, key: Path
) -> None:
    before = tmp_path / "before.img"
    subprocess.run(["cp", "--sparse=always", card.file, before], check=True)
    file = tmp_path / "writes.log"
    promises, frames = written(card, tmp_path, key, file)
    assert promises[-1].frames * 2 > frames, "the board or the guest is too slow"
    log = WriteLog(file)
    partition = Partition(log, before, DATA_OFFSET, tmp_path / "partition.img")
    chance = random.Random(20261123)  # noqa: S311 - moments, no secret
    writes_lost = 0
    for position in positions_of_cuts(log, promises, chance):
        promise = [each for each in promises if each.log_position <= position][-1]
        partition.advance(position)
        lost, not_flushed = partition.cut(tmp_path / "cut.img", chance)
        writes_lost += lost
        received = delivered_from(tmp_path / "cut.img", tmp_path, promise.frames)
        print(f"after {partition.flushes} flushes {lost} of {not_flushed} writes lost: "
              f"{promise.frames} frames acknowledged, {len(received) // len(QUANTITIES)} received",
              flush=True)  # fmt: skip
        assert set(received.values()) == {1}
        promised = {
            ("board-0000002a", 1, sequence, quantity)
            for sequence in range(1, promise.frames + 1)
            for quantity in QUANTITIES
        }
        assert promised <= set(received)
        assert max(sequence for _, _, sequence, _ in received) <= frames
    partition.close()
    assert writes_lost
    # Negative check: this comparison also finds a card that reports a flush without writing.
    partition = Partition(log, before, DATA_OFFSET, tmp_path / "partition.img")
    partition.advance(promises[len(promises) // 2].log_position)
    partition.cut(tmp_path / "cut.img", chance)
    with pytest.raises(AssertionError, match=r"\d+ readings of \d+"):
        delivered_from(tmp_path / "cut.img", tmp_path, promises[-1].frames, seconds=15)
    partition.close()
    log.close()


def positions_of_cuts(log: WriteLog, promises: list[Promise], chance: random.Random) -> list[int]:
    """Return positions in the log for cuts: half of them directly after acknowledgements, half
    directly before flushes."""
    acknowledged = [each.log_position for each in promises]
    risky = [each for each in log.positions_before_flushes() if each >= acknowledged[0]]
    half = CUTS // 2
    return sorted(chance.sample(acknowledged, half) + chance.sample(risky, CUTS - half))


def written(card: Card, folder: Path, key: Path, log: Path) -> tuple[list[Promise], int]:
    """Run a machine with logged writes.

    Return the promises that it made, and the number of frames the board sent.
    """
    promises: list[Promise] = []
    with powered(card, folder, key=key, write_log=log) as machine:
        machine.wait_until_healthy()
        # Its session exists while it is away, so everything is delivered after the cut.
        with Subscriber(machine.port(MQTT), USER, PASSWORD) as subscriber:
            assert subscriber.subscribed.wait(60)
        with Board(machine.serial, FRAME_SECONDS) as board:
            board.start_measuring()
            until = time.monotonic() + LOAD_SECONDS
            while time.monotonic() < until:
                frames = board.acknowledged_up_to
                position = log.stat().st_size
                if frames and (not promises or frames > promises[-1].frames):
                    promises.append(Promise(position, frames))
                time.sleep(0.02)
            machine.cut_power()
            return promises, board.board.waiting + board.acknowledged


def delivered_from(
    image: Path, folder: Path, frames: int, *, seconds: float = 60
) -> dict[tuple[str, int, int, str], int]:
    """Return the count of each reading that a subscriber gets from a data partition after a power
    cut. Waits for at least `frames` frames."""
    checked = subprocess.run(["e2fsck", "-p", image], capture_output=True, text=True, check=False)
    assert checked.returncode in {0, 1}, checked.stdout
    with mounted(image, folder / "var") as var:
        config, port = host_configuration(folder)
        data = var / "lib" / "oncegate"
        with running("broker", config, data), Subscriber(port, USER, PASSWORD) as subscriber:
            with running("bridge", config, data / "bridge"):
                subscriber.wait_for(frames * len(QUANTITIES), seconds)
                # Frames that were accepted and not acknowledged arrive too. Wait until no more
                # arrive.
                count = -1
                while count < len(subscriber.readings):
                    count = len(subscriber.readings)
                    time.sleep(1)
            return dict(subscriber.readings)


def host_configuration(folder: Path) -> tuple[Path, int]:
    """Return a configuration with the guest's user names and other passwords, and its port.

    Sessions belong to user names.
    """
    port = free_port()
    passwords, secret = folder / "passwords", folder / "bridge-password"
    if not passwords.exists():
        secret.write_text(PASSWORD)
        secret.chmod(0o600)
        for user in (USER, BRIDGE_USER):
            subprocess.run(
                [*oncegate_command(), "passwd", passwords, user, "--password-stdin"],
                input=PASSWORD, text=True, check=True, capture_output=True,
            )  # fmt: skip
    config = folder / "host.toml"
    config.write_text(f"""\
[gateway]
control_dir = "{folder}"
[access]
password_file = "{passwords}"
[[listeners]]
bind = "127.0.0.1"
port = {port}
anonymous = false
[bridge]
username = "{BRIDGE_USER}"
password_file = "{secret}"
[[serial]]
name = "board"
path = "{folder}/unplugged"
""")
    return config, port


@contextlib.contextmanager
def mounted(image: Path, folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def running(verb: str, config: Path, data: Path) -> Iterator[None]:
    """Run the host's own broker or bridge, and print its output, which a failed test shows."""
    process = subprocess.Popen(
        [*oncegate_command(), verb, "--config", config, "--data-dir", data],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    reading = threading.Thread(target=lambda lines: [print(line, end="") for line in lines],
                               args=(process.stdout,))  # fmt: skip
    reading.start()
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)
        reading.join()
        process.stdout.close()

"""A running gateway: its memory and its writes to the card, a full data partition, and the session
log up to the tables in the cloud.

The tests use one boot and run in the order of the file.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.workers import IDLE_SECONDS_MAX
from tests.image.boot.card import Card
from tests.image.boot.cloud import UPLOAD, ingested, stop_and_upload
from tests.image.boot.conftest import PASSWORD, SERVICES, USER, provisioning_file
from tests.image.boot.machine import MQTT, Machine, block_stat, powered, sectors_written
from tests.image.boot.sensor import READINGS_A_FRAME, Board
from tests.image.boot.subscriber import Subscriber
from tests.uploader.bucket import Bucket, served_bucket

pytestmark = pytest.mark.timeout(3600)
FRAME_SECONDS = 1.0
"""Time between two frames, each with three readings."""
MEASURED_SECONDS = 600.0
"""Long enough for two sealed segments and a checkpoint, which a shorter time may miss."""
SECTOR_BYTES = 512
PSS_BYTES_MAX = 150e6
"""The limit on the memory of all services. 148 MB were measured (image/README.md)."""
WRITTEN_BYTES_PER_SECOND_MAX = 15e3
"""The limit on the writes to the card. 12.3 kB/s were measured in nine minutes (decision 74)."""


class Running:
    """The running machine, its sensor board, a subscriber, and the bucket for uploads."""

    def __init__(
        self, machine: Machine, board: Board, subscriber: Subscriber, bucket: Bucket
    ) -> None:
        self.machine = machine
        self.board = board
        self.subscriber = subscriber
        self.bucket = bucket


@pytest.fixture(scope="module")
def running(image: Path, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    card = Card(image, folder / "card.img")
    card.put("gateway.toml", provisioning_file(key) + UPLOAD)
    with (
        pytest.MonkeyPatch.context() as environment,
        served_bucket(environment) as bucket,
        powered(card, folder, key=key, host_port=bucket.port) as machine,
        Board(machine.serial, FRAME_SECONDS) as board,
    ):
        machine.wait_until_healthy()
        with Subscriber(machine.port(MQTT), USER, PASSWORD) as subscriber:
            assert subscriber.subscribed.wait(60)
            board.start_measuring()
            yield Running(machine, board, subscriber, bucket)


def test_the_four_services_share_their_memory_budget(running: Running) -> None:
    # The first start creates tables, with modules that later starts do not load.
    running.machine.run("systemctl restart oncegate-broker oncegate-bridge oncegate-api")
    running.machine.wait_until_healthy()
    # The process that checked the bridge's password ends after this time.
    time.sleep(IDLE_SECONDS_MAX + 10)
    kilobytes = {
        service: sum(
            int(line.split()[1])
            for line in running.machine.run(
                f"for each in $(cat /sys/fs/cgroup/system.slice/{service}.service/cgroup.procs); "
                "do grep ^Pss: /proc/$each/smaps_rollup; done"
            ).splitlines()
        )
        for service in SERVICES
    }
    assert all(kilobytes.values())
    total_bytes = sum(kilobytes.values()) * 1024
    each = ", ".join(f"{name} {kb * 1024 / 1e6:.0f}" for name, kb in kilobytes.items())
    print(f"PSS: {total_bytes / 1e6:.0f} MB ({each})")
    assert total_bytes < PSS_BYTES_MAX


def test_three_readings_a_second_write_less_than_the_card_s_budget(running: Running) -> None:
    readings, began = len(running.subscriber.readings), time.monotonic()
    rate = bytes_written(running.machine, MEASURED_SECONDS) / MEASURED_SECONDS
    arrived = (len(running.subscriber.readings) - readings) / (time.monotonic() - began)
    print(f"{rate / 1e3:.1f} kB/s written to the card at {arrived:.1f} readings/s")
    assert arrived > READINGS_A_FRAME / FRAME_SECONDS / 2, "the board or the guest is too slow"
    assert rate < WRITTEN_BYTES_PER_SECOND_MAX


def test_a_full_data_partition_ends_no_process_and_loses_nothing(running: Running) -> None:
    machine, subscriber = running.machine, running.subscriber
    # Root can also fill the blocks that are reserved for root.
    machine.run("dd if=/dev/zero of=/var/filler bs=1M status=none; sync", check=False)
    assert int(machine.run("df --output=avail -BM /var | tail -1").rstrip("M")) < 32
    until = time.monotonic() + 300
    while not disk_of(machine)["full"]:
        assert time.monotonic() < until, disk_of(machine)
        time.sleep(2)
    machine.run("systemctl is-active oncegate-broker oncegate-bridge oncegate-api oncegate-upload")
    machine.run("rm /var/filler")
    arrived = len(subscriber.readings)
    subscriber.wait_for(arrived + 20 * READINGS_A_FRAME, 300)
    restarts = machine.run("systemctl show -P NRestarts 'oncegate-*.service'").split()
    assert set(restarts) <= {"0"}


def test_every_reading_is_once_at_the_host_and_once_in_the_table(
    running: Running, tmp_path: Path
) -> None:
    machine, board, subscriber = running.machine, running.board, running.subscriber
    board.stop_measuring()
    board.wait_until_all_is_acknowledged(300)
    wanted = board.acknowledged * READINGS_A_FRAME
    subscriber.wait_for(wanted, 300)
    assert set(subscriber.readings.values()) == {1}
    stop_and_upload(machine)
    found = ingested(running.bucket, tmp_path)
    assert found == subscriber.readings
    print(f"{len(found)} readings, each once at the subscriber and in the table")


def disk_of(machine: Machine) -> dict[str, Any]:
    disk: dict[str, Any] = json.loads(machine.run("oncegate ctl status --json"))["disk"]
    return disk


def bytes_written(machine: Machine, seconds: float) -> int:
    """Return the bytes written to the whole card in this time.

    Both measurements use one login, because each login writes about 250 kB to the journal, and a
    gateway in a cabinet has no logins.
    """
    look = f"sync; cat {block_stat('vda')}"
    said = machine.run(f"{look}; sleep {seconds:.0f}; {look}", seconds=seconds + 120)
    before, after = map(sectors_written, said.splitlines())
    return (after - before) * SECTOR_BYTES

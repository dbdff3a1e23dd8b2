"""The whole chain in one run: flash, first boot, sensor, page, update, upload, ingest.

make image-chain        also writes the report of the run to docs/whole-chain.md
"""

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.api.chromium import open_tab
from tests.image.boot.card import Card
from tests.image.boot.cloud import UPLOAD, ingested, stop_and_upload
from tests.image.boot.conftest import PASSWORD, USER, provisioning_file
from tests.image.boot.machine import MQTT, PAGE, Machine, powered
from tests.image.boot.sensor import READINGS_A_FRAME, Board
from tests.image.boot.subscriber import Subscriber
from tests.image.boot.updates import MOUNT, UPDATE, bundle_of, install, stick_with
from tests.uploader.bucket import served_bucket

pytestmark = pytest.mark.timeout(3600)
FRAME_SECONDS = 1.0
NEXT = "0.2.0"
PICTURE = "whole-chain.png"


class Report:
    """Lines with the seconds since the start, which are printed immediately and stored."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        for index, line in enumerate(text.splitlines()):
            seconds = f"{time.monotonic() - self._began:7.1f} s  " if not index else " " * 11
            self.lines.append((seconds + line).rstrip())
            print(self.lines[-1], flush=True)


def test_from_the_image_to_the_table(
    image: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = Report()
    card = flashed(image, tmp_path, reported)
    card.put("gateway.toml", provisioning_file(key) + UPLOAD)
    reported.say("gateway.toml written to the partition ONCEGATE")
    stick = stick_with(bundle_of(image, tmp_path, NEXT))
    subscriber = Subscriber(0, USER, PASSWORD)
    with (
        served_bucket(monkeypatch) as bucket,
        Board(tmp_path / "sensor.sock", FRAME_SECONDS) as board,
        subscriber,
    ):
        with powered(card, tmp_path, key=key, stick=stick, host_port=bucket.port) as machine:
            first_boot(machine, reported)
            listen(machine, board, subscriber, reported)
            look_at_page(machine, tmp_path, reported)
            update(machine, reported)
        with powered(card, tmp_path, "raspi3b", key=key, host_port=bucket.port) as machine:
            second_version(machine, reported)
            listen(machine, board, subscriber, reported)
            board.stop_measuring()
            board.wait_until_all_is_acknowledged(600)
            wanted = board.acknowledged * READINGS_A_FRAME
            subscriber.wait_for(wanted, 600)
            reported.say(f"the board's {board.acknowledged} frames are acknowledged")
            stop_and_upload(machine)
            machine.power_off()
    sizes = [len(data) for data in bucket.objects.values()]
    reported.say(f"uploaded to the host: {len(sizes)} objects, {sum(sizes):,} bytes")
    found = ingested(bucket, tmp_path)
    assert subscriber.sessions_lost == 0
    assert len(found) == wanted
    assert set(found.values()) == {1}
    assert found == subscriber.readings
    reported.say(f"{len(found)} readings, each once at the subscriber and once in the Delta table")
    if log := os.environ.get("ONCEGATE_CHAIN_LOG"):
        shutil.copy(tmp_path / PICTURE, Path(log).with_name(PICTURE))
        write_down(Path(log), reported)


def flashed(image: Path, folder: Path, reported: Report) -> Card:
    """Return a card with the bytes that `xzcat IMAGE | dd` writes."""
    packed = image.with_name(image.name + ".xz")
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()
    assert packed.with_name(packed.name + ".sha256").read_text().split()[0] == digest
    reported.say(f"{packed.name}: {packed.stat().st_size / 1e6:.0f} MB, its sha256 is right")
    raw = folder / "flashed.img"
    with raw.open("wb") as file:
        subprocess.run(["xzcat", packed], stdout=file, check=True)
    card = Card(raw, folder / "card.img")
    raw.unlink()
    reported.say("flashed to a card of 4 GiB")
    return card


def first_boot(machine: Machine, reported: Report) -> None:
    reported.say("power on (QEMU virt, slot A)")
    machine.wait_until_healthy()
    reported.say("the gateway is healthy; gateway-report.txt on the partition ONCEGATE:")
    reported.say(machine.run("cat /boot/firmware/gateway-report.txt"))


def listen(machine: Machine, board: Board, subscriber: Subscriber, reported: Report) -> None:
    """Wait until new readings have arrived at the subscriber."""
    before = len(subscriber.readings)
    subscriber.port = machine.port(MQTT)
    assert subscriber.subscribed.wait(300)
    board.start_measuring()
    subscriber.wait_for(before + 20 * READINGS_A_FRAME, 600)
    reported.say(f"{len(subscriber.readings)} readings at a subscriber on the host")


def look_at_page(machine: Machine, folder: Path, reported: Report) -> None:
    """Check the page in a browser on the host and the card's state in the REST interface.

    Save a picture of the page.
    """
    port = machine.port(PAGE)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/card", timeout=60) as answer:
        booted = json.load(answer)["facts"]["booted"]
    assert booted["slot"] == "A"
    picture, text = asyncio.run(shown(f"http://127.0.0.1:{port}/", folder))
    assert "board-0000002a" in text
    reported.say(f"page in Chromium on the host: {len(text):,} characters; /api/v1/card: {booted}")
    (folder / PICTURE).write_bytes(picture)


async def shown(address: str, folder: Path) -> tuple[bytes, str]:
    async with open_tab(folder / "profile") as tab:
        await tab.look(width=1200)
        await tab.go(address)
        await tab.wait_until("document.body.innerText.includes('board-0000002a')")
        return await tab.screenshot(), str(await tab.evaluate("document.body.innerText"))


def update(machine: Machine, reported: Report) -> None:
    machine.run(MOUNT)
    # One in ten progress lines of the copy is enough for the report.
    said = re.sub(r"(?m)^ *\d*[1-9]% Copying image to rootfs.1\n", "", install(machine))
    reported.say(f"{UPDATE}:\n{said}")
    machine.power_off()
    reported.say("restart")


def second_version(machine: Machine, reported: Report) -> None:
    reported.say("power on (QEMU raspi3b, through U-Boot)")
    machine.wait_for_console("Starting slot B")
    reported.say("U-Boot: Starting slot B")
    machine.wait_for_console("Slot B is kept")
    machine.wait_until_up()
    assert "rauc.slot=B" in machine.run("cat /proc/cmdline")
    reported.say(f"oncegate-device status:\n{machine.run('oncegate-device status')}")


def write_down(path: Path, reported: Report) -> None:
    text = "\n".join(reported.lines)
    path.write_text(
        "# A run of the whole chain\n\n"
        "`make image-chain` writes this page. It takes one SD card in QEMU through all steps,\n"
        "from the compressed image to the rows of the table. A simulated board is connected to\n"
        "the emulated USB serial port, the object store is on the host, and the Spark job writes\n"
        "the table. The times were measured in an emulator on two cores.\n\n"
        f"```text\n{text}\n```\n\n"
        f"![The gateway's page in a browser on the host]({PICTURE})\n"
    )

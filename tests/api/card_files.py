"""Files that the SD card's system and the kernel provide for the page, written by a test."""

import json
from pathlib import Path

from tests.api import recorded


class CardFiles:
    """The report that root writes, and the kernel's counters for a card of 14.9 GiB."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "card.json"
        self.block_devices = folder / "block"
        device = self.block_devices / "mmcblk0"
        device.mkdir(parents=True)
        (device / "size").write_text(f"{16_000_000_000 // 512}\n")
        self.write_sectors(2048)

    def write_sectors(self, sectors: int) -> None:
        stat = f"   900 1 20000 812 400 2 {sectors} 1000 0 900 1812 0 0 0 0 0 0\n"
        (self.block_devices / "mmcblk0" / "stat").write_text(stat)

    def put(self, **bent: object) -> None:
        self.file.write_text(json.dumps({**recorded.card(), **bent}))

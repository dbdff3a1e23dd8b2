"""A card in a folder: its two partitions, the kernel's files, and rauc as a program on PATH.

None of our own code is replaced. rauc and fw_printenv are other people's programs; the replacements
here answer as rauc 1.8 and 1.13 did in manual tests.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncegate_device import card, updates
from oncegate_device.installing import install
from oncegate_device.places import Places
from oncegate_device.start import Moment, Release, Start, moment_of, start_of
from oncegate_device.updates import Record, State

OWN = Release("1.0", 5)
NEW = Release("2.0", 5)
SYSTEM = "[system]\ncompatible=oncegate-rpi-arm64\n"
MANIFEST = {
    "compatible": "oncegate-rpi-arm64",
    "version": NEW.version,
    "description": f"store format {NEW.store_format}",
    "build": None,
    "hooks": [],
    "images": [{"rootfs": {"filename": "slot.ext4", "size": 8192}}],
}
RAUC = """\
#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
cat "$(dirname "$0")/$1.err" >&2
cat "$(dirname "$0")/$1.out"
if [ $1 = install ]; then cp "$RECORD" "$(dirname "$0")/record-of-then"; fi
exit $(cat "$(dirname "$0")/$1.status")
"""


class Device:
    """A card and the machine around it.

    `places` has the files that survive a restart; `restart` writes the kernel's files for the next
    start.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places = Places(folder / "boot", folder / "device", folder / "root")
        self.programs = folder / "programs"
        for each in (
            self.places.boot, self.places.device, self.programs, self.places.run,
            self.root("proc/sys/kernel/random"), self.root("usr/lib"), self.root("etc/rauc"),
        ):  # fmt: skip
            each.mkdir(parents=True)
        self.root("etc/rauc/system.conf").write_text(SYSTEM)
        self.put_program("rauc", RAUC)
        self.put_program("modprobe", '#!/bin/sh\necho "$*" >>"$(dirname "$0")/modules"\n')
        self.tries(9)
        self.set_rauc_output("info", json.dumps(MANIFEST))
        self.set_rauc_output("status", "rauc status: marked slot rootfs.1 as active\n")
        self.set_rauc_output("install", "  0% Installing\n100% Installing done.\n")
        (self.places.boot / "uboot.env").write_bytes(environment("BOOT_ORDER=A B"))
        (self.places.boot / "uboot.bak").write_bytes(environment("BOOT_ORDER=before"))
        self.bundle = folder / "update.raucb"
        self.bundle.write_text("a bundle")
        self.writable: list[Path] = []
        self.restarts = 0
        self.restart("A")
        monkeypatch.setenv("PATH", f"{self.programs}:{os.environ['PATH']}")
        monkeypatch.setenv("RECORD", str(self.places.updates))

    def root(self, path: str) -> Path:
        return self.places.root / path

    def put_program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def set_rauc_output(self, verb: str, out: str, err: str = "", status: int = 0) -> None:
        for name, text in (("out", out), ("err", err), ("status", str(status))):
            (self.programs / f"{verb}.{name}").write_text(text)

    def tries(self, left: int) -> None:
        """Set the remaining tries of the running slot in U-Boot's environment."""
        self.put_program("fw_printenv", f'#!/bin/sh\n[ "$1" = -n ] || exit 1\necho {left}\n')

    def restart(self, slot: str, release: Release | None = OWN) -> None:
        self.restarts += 1
        self.root("proc/cmdline").write_text(f"root=/dev/x ro rauc.slot={slot} quiet\n")
        boot_id = self.root("proc/sys/kernel/random/boot_id")
        boot_id.write_text(f"00000000-0000-4000-8000-{self.restarts:012d}\n")
        text = (
            f"VERSION={release.version}\nSTORE_FORMAT={release.store_format}\n" if release else ""
        )
        self.root("usr/lib/oncegate-release").write_text(text)

    def install(self, source: str | None = None, *, rollback_ends: bool = False) -> str:
        return install(
            source or str(self.bundle), self.places, rollback_ends=rollback_ends,
            writable=self._writable,
        )  # fmt: skip

    @contextlib.contextmanager
    def _writable(self, place: Path) -> Iterator[None]:
        self.writable.append(place)
        yield

    def calls(self) -> list[str]:
        """Return the arguments of each call of rauc."""
        calls = self.programs / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def known(self) -> tuple[Record, Moment, Start]:
        return updates.load(self.places), moment_of(self.places), start_of(self.places)

    def step(self, record: Record) -> Record:
        """Save the record and publish the card's state, as `oncegate-device` does."""
        updates.save(record, self.places)
        card.publish(self.places, start_of(self.places))
        return record

    def booted(self, *, is_trial: bool | None = False) -> Record:
        return self.step(updates.booted(*self.known(), is_trial=is_trial))

    def state(self) -> State | None:
        """Return the stored state of the last update, or None if there was no update."""
        last = updates.load(self.places).last
        return None if last is None else last.state

    @property
    def card(self) -> dict[str, object]:
        facts: dict[str, object] = json.loads(self.places.card.read_text())
        return facts

    @property
    def words(self) -> str:
        return card.status(self.places)


def environment(text: str) -> bytes:
    """Return a U-Boot environment: the CRC-32 of the rest, then the rest."""
    rest = text.encode() + b"\0" * 60
    return zlib.crc32(rest).to_bytes(4, "little") + rest

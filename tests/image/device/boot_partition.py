"""A boot and a data partition in a folder, a complete gateway.toml, and simulated power cuts."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oncegate_device.places import Places
from oncegate_device.provisioning import provision
from oncegate_device.report import REPORT

EXAMPLE = Path(__file__).resolve().parents[3] / "image" / "boot" / "gateway.toml"


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEtYwyFQdPNGqVQB7qHYyAR5+6nFmAl9uJ1mS7pXK2ab me@laptop"


FULL = f"""\
# My cabinet.
[device]
hostname = "cabinet-7"
ssh_keys = ["{KEY}"]

[wifi]
country = "DE"
ssid = "Müller's"
password = "correct horse"  # the guest network's

[[users]]
name = "cellar"
password = "battery staple"

[[serial]]
name = "gps"
usb = "1546:01a7"
framing = "nmea"

[upload]
target = "s3://bucket/prefix"
[upload_environment]
AWS_SECRET_ACCESS_KEY = 'quote " and \\ slash'

[api]
bind = "0.0.0.0"
viewers = ["cellar"]
"""


SECRETS = ("correct horse", "battery staple", "slash")


class Card:
    """A boot partition and a data partition in a folder."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder / "boot", folder / "device")
        self.places.boot.mkdir()
        self.places.device.mkdir()
        self.writable_times = 0
        self.owners: dict[str, str] = {}

    def put(self, text: str) -> None:
        self.places.file.write_text(text, encoding="utf-8")

    def provision(self) -> list[str]:
        return provision(self.places, writable=self._writable, own=self.own)

    @contextlib.contextmanager
    def _writable(self, place: Path) -> Iterator[None]:
        assert place == self.places.boot
        self.writable_times += 1
        yield

    def own(self, path: Path, user: str, group: str) -> None:
        self.owners[path.name] = f"{user}:{group}"

    @property
    def text(self) -> str:
        return self.places.file.read_text()

    @property
    def report(self) -> str:
        return (self.places.boot / REPORT).read_text()

    def stored(self, name: str) -> str:
        return (self.places.device / name).read_text()


class Cut(Exception):
    """Raised in place of the step at which the power is cut."""


@contextlib.contextmanager
def cut_after(steps_max: int) -> Iterator[None]:
    """Abort the block at the first rename, removal or fsync after `steps_max` of them."""
    steps = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            nonlocal steps
            steps += 1
            if steps > steps_max:
                raise Cut
            return real(*arguments, **named)

        return step

    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(Cut):
        for owner, name in ((Path, "rename"), (Path, "unlink"), (os, "fsync")):
            patched.setattr(owner, name, counted(getattr(owner, name)))
        yield

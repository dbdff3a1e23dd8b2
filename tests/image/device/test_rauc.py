"""The call of rauc, and reports that quote rauc's own error messages."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from oncegate_device import updates
from oncegate_device.installing import FailedError
from oncegate_device.places import Places
from oncegate_device.updates import State

from tests.image.device.device import Device

URL = "https://example.org/oncegate-2.0-arm64.raucb"


def test_a_bundle_at_an_address_is_streamed_through_the_driver_for_it(device: Device) -> None:
    device.install(URL)
    assert device.calls()[1] == f"install {URL}"
    assert (device.programs / "modules").read_text() == "nbd\n"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("LastError: Failed mounting bundle: No space left on device", "there is no room for it"),
        ("\x1b[31mLastError: \x1b[0mslot too small", "there is no room for it"),
        ("LastError: streaming: curl timed out", "the download broke off"),
        ("D-Bus error while installing", "rauc: D-Bus error"),
        ("", "no reason was given"),
    ],
)
def test_what_breaks_off_is_recorded_with_rauc_s_reason(
    device: Device, said: str, words: str
) -> None:
    out = f"  0% Installing\n 20% Copying\n{said}\nInstalling `{device.bundle}` failed\n"
    device.set_rauc_output("install", out, status=1)
    with pytest.raises(FailedError, match=words if said else None):
        device.install()
    assert device.state() is State.FAILED
    assert updates.load(device.places).slots["B"] is None
    assert device.card["update"]
    assert "Slot A runs; `oncegate update` installs again" in device.words


def test_rauc_that_is_not_there_is_a_failure_that_is_recorded(device: Device) -> None:
    (device.programs / "rauc").unlink()
    with contextlib.suppress(FailedError):
        device.install()
    assert device.state() is State.FAILED


PROGRAM = """\
import contextlib, sys
from pathlib import Path
from oncegate_device.installing import install
from oncegate_device.places import Places
boot, device, root, bundle = sys.argv[1:]
install(bundle, Places(Path(boot), Path(device), Path(root)), rollback_ends=False,
        writable=lambda place: contextlib.nullcontext())
"""


def of_install(places: Places, bundle: Path) -> list[str]:
    where = (places.boot, places.device, places.root, bundle)
    return [sys.executable, "-c", PROGRAM, *(str(each) for each in where)]


def test_on_a_terminal_rauc_has_one_too_and_shows_its_bar(device: Device) -> None:
    device.put_program(
        "rauc",
        f"#!/bin/sh\nif [ $1 = info ]; then cat {device.programs}/info.out; exit; fi\n"
        '[ -t 1 ] && echo "a bar: $*"\nexit 1\n',
    )
    ours, theirs = pty.openpty()
    path = [str(Path(updates.__file__).parents[1]), *sys.path]
    process = subprocess.Popen(
        of_install(device.places, device.bundle), stdout=theirs, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": ":".join(path)},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 4096):
            said += data
    os.close(ours)
    assert process.wait(30) == 1
    assert f"a bar: install --progress {device.bundle}".encode() in said
    assert device.state() is State.FAILED
    assert "a bar" in device.words

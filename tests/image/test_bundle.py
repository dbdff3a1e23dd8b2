"""`image/bundle` with the real rauc: the slot's own release file ends up in the signed manifest."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from oncegate_device.rauc import Bundle, bundle_in

IMAGE = Path(__file__).resolve().parents[2] / "image"


def slot_with(release: str | None, folder: Path) -> Path:
    contents = folder / "contents"
    (contents / "usr/lib").mkdir(parents=True)
    if release is not None:
        (contents / "usr/lib/oncegate-release").write_text(release)
    # rauc refuses to build a bundle from almost no data.
    (contents / "kernel").write_bytes(os.urandom(64 << 10))
    slot = folder / "slot.ext4"
    with slot.open("wb") as file:
        file.truncate(4 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", contents, slot], check=True)
    return slot


def bundled(slot: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("UPDATE_")}
    return subprocess.run(
        [IMAGE / "bundle", slot, folder / "update.raucb"],
        capture_output=True, text=True, check=False,
        env=inherited | {"ONCEGATE_IMAGE_CACHE": str(folder)},
    )  # fmt: skip


def test_version_and_format_of_a_slot_are_what_its_bundle_states(tmp_path: Path) -> None:
    slot = slot_with("VERSION=0.1.0~deb13\nSTORE_FORMAT=5\n", tmp_path)
    done = bundled(slot, tmp_path)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        ["rauc", f"--keyring={tmp_path}/throwaway-certificate.pem", "info", "--output-format=json",
         tmp_path / "update.raucb"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert bundle_in(said.stdout) == Bundle("oncegate-rpi-arm64", "0.1.0~deb13", 5)
    assert json.loads(said.stdout)["description"] == "store format 5"


@pytest.mark.parametrize("release", [None, "", "VERSION=1\n", "STORE_FORMAT=5\n"])
def test_a_slot_that_does_not_say_them_is_not_bundled(tmp_path: Path, release: str | None) -> None:
    done = bundled(slot_with(release, tmp_path), tmp_path)
    assert done.returncode == 1
    assert "does not name VERSION and STORE_FORMAT: is it a slot of make image?" in done.stderr

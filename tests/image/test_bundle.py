"""`image/bundle` with the real rauc: the slot's own release file ends up in the signed manifest."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from oncegate_device.rauc import Bundle, bundle_in

IMAGE = Path(__file__).resolve().parents[2] / "image"


def throwaway_certificate(cache: Path) -> Path:
    """Create a throwaway key in the folder as a build of the image does."""
    said = subprocess.run(
        [IMAGE / "throwaway-key", cache], capture_output=True, text=True, check=True
    )
    return Path(said.stdout.strip())


def slot_with(release: str | None, folder: Path, certificate: Path | None = None) -> Path:
    """Return a slot that accepts bundles of this certificate, by default of the folder's key."""
    contents = folder / "contents"
    (contents / "usr/lib").mkdir(parents=True)
    (contents / "etc/rauc").mkdir(parents=True)
    accepted = certificate or throwaway_certificate(folder)
    (contents / "etc/rauc/keyring.pem").write_bytes(accepted.read_bytes())
    if release is not None:
        (contents / "usr/lib/oncegate-release").write_text(release)
    # rauc refuses to build a bundle from almost no data.
    (contents / "kernel").write_bytes(os.urandom(64 << 10))
    slot = folder / "slot.ext4"
    with slot.open("wb") as file:
        file.truncate(4 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", contents, slot], check=True)
    return slot


def bundled(slot: Path, folder: Path, **keys: Path) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("UPDATE_")}
    chosen = {name: str(path) for name, path in keys.items()}
    return subprocess.run(
        [IMAGE / "bundle", slot, folder / "update.raucb"],
        capture_output=True, text=True, check=False,
        env=inherited | {"ONCEGATE_IMAGE_CACHE": str(folder)} | chosen,
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


RELEASE = "VERSION=0.1.0~deb13\nSTORE_FORMAT=5\n"


def test_without_the_key_of_the_image_no_bundle_is_made_and_no_key(tmp_path: Path) -> None:
    """A card refuses a bundle that is signed with a key that was created later."""
    slot = slot_with(RELEASE, tmp_path)
    key = tmp_path / "throwaway-key.pem"
    for lost in (key, tmp_path / "throwaway-certificate.pem"):
        lost.unlink()
        done = bundled(slot, tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"{lost} does not exist: ")
        assert "ONCEGATE_IMAGE_CACHE" in done.stderr
        assert not key.exists()
        assert not (tmp_path / "update.raucb").exists()


def test_a_key_that_the_slot_does_not_accept_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    slot = slot_with(RELEASE, tmp_path, throwaway_certificate(other))
    throwaway_certificate(tmp_path)
    done = bundled(slot, tmp_path)
    assert done.returncode == 1
    assert f"{slot}: its card refuses bundles that are signed with" in done.stderr
    assert not (tmp_path / "update.raucb").exists()
    own = {"UPDATE_CERTIFICATE": other / "throwaway-certificate.pem"}
    done = bundled(slot, tmp_path, **own, UPDATE_KEY=other / "throwaway-key.pem")
    assert done.returncode == 0, done.stderr
    done = bundled(slot, tmp_path, **own)
    assert (done.returncode, done.stdout) == (1, "")
    assert "set both UPDATE_KEY and UPDATE_CERTIFICATE, or neither" in done.stderr


def test_a_new_throwaway_key_is_announced(tmp_path: Path) -> None:
    said = [
        subprocess.run(
            [IMAGE / "throwaway-key", tmp_path], capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert "cards whose image was built with another key refuse" in said[0].stderr
    assert said[1].stderr == ""
    assert said[0].stdout == said[1].stdout

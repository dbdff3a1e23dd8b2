"""`oncegate-device update`: refusals, the call of rauc, and the report about the result."""

import fcntl
import json

import pytest
from oncegate_device import updates
from oncegate_device.installing import FailedError, RefusedError
from oncegate_device.updates import State

from tests.image.device.device import MANIFEST, Device


def test_a_file_is_verified_before_it_is_installed_and_rauc_gets_its_whole_name(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(device.bundle.parent)
    words = device.install(device.bundle.name)
    assert device.calls() == [
        f"info --output-format=json {device.bundle}",
        f"install {device.bundle}",
    ]
    assert words.startswith("Version 2.0 is installed in slot B and waits for a restart.")
    assert device.writable == [device.places.boot]
    assert not (device.programs / "modules").exists()


@pytest.mark.parametrize(
    "source",
    [
        "http://example.org/a.raucb",
        "ftp://example.org/a",
        "https://",
        "https://[/a",
        "https://a b/c",
        "file:///etc/passwd",
        "nothing.raucb",
        "/dev/null",
        "/tmp",  # noqa: S108
        "a\nb",
        "",
        "https://a/" + "x" * 3000,
    ],
)
def test_anything_else_is_refused_with_what_is_expected_and_nothing_is_recorded(
    device: Device, source: str
) -> None:
    with pytest.raises(RefusedError, match=r"expected a bundle's file .* or its https:// address"):
        device.install(source) if source else device.install(" ")
    assert device.calls() == []
    assert device.state() is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("signature verification failed: self-signed certificate", "not one that this card trusts"),
        ("Invalid bundle format: Signature size is 0", "it is not a whole bundle"),
        ("failed to download: curl: Could not resolve host", "the download broke off"),
    ],
)
def test_what_rauc_does_not_take_is_recorded_and_leaves_the_other_slot_as_it_was(
    device: Device, said: str, words: str
) -> None:
    device.install()
    device.set_rauc_output("info", "", f"rauc-Message: Reading bundle\n{said}\n", 1)
    with pytest.raises(FailedError, match=words):
        device.install()
    record = updates.load(device.places)
    assert device.state() is State.FAILED
    assert record.slots["B"] is not None
    assert "still tried at the restart" in device.words


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({**MANIFEST, "compatible": "toaster"}, 'made for "toaster", not for "oncegate-rpi-arm64"'),
        ({**MANIFEST, "version": "1\x1b[2J"}, "not one of this gateway's"),
        ({**MANIFEST, "version": 7}, "not one of this gateway's"),
        ({}, "not one of this gateway's"),
        ([], "not one of this gateway's"),
    ],
)
def test_a_signed_bundle_of_something_else_is_not_installed(
    device: Device, manifest: object, words: str
) -> None:
    device.set_rauc_output("info", json.dumps(manifest))
    with pytest.raises(FailedError, match=words):
        device.install()
    assert len(device.calls()) == 1
    assert device.state() is State.FAILED


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("store format 6", "writes data of format 6, which the version of now .up to 5. cannot"),
        ("", "The bundle does not name the format of its data"),
        ("store format x", "The bundle does not name the format of its data"),
    ],
)
def test_a_format_that_ends_rollback_is_refused_until_it_is_said_to_be_wanted(
    device: Device, description: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    device.set_rauc_output("info", json.dumps({**MANIFEST, "description": description}))
    with pytest.raises(RefusedError, match=f"{words}.*--rollback-ends"):
        device.install()
    assert (len(device.calls()), device.state()) == (1, None)
    said = device.install(rollback_ends=True)
    assert "Installed even so: --rollback-ends" in capsys.readouterr().out
    assert "The version before it cannot read its data." in said
    last = updates.load(device.places).last
    assert last
    assert last.ends_rollback


def test_a_version_that_cannot_read_the_data_is_refused_at_any_rate(device: Device) -> None:
    device.set_rauc_output("info", json.dumps({**MANIFEST, "description": "store format 4"}))
    with pytest.raises(RefusedError, match="Expected a version with format 5 or newer"):
        device.install(rollback_ends=True)


def test_two_updates_do_not_run_together(device: Device) -> None:
    with (device.places.run / "update.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RefusedError, match="another update"):
            device.install()

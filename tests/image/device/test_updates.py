"""The record of slots and updates after each step, and after a power cut between any two steps."""

import json
import os
from pathlib import Path

import pytest
from oncegate_device import updates
from oncegate_device.updates import Record, State

from tests.image.device.device import NEW, OWN, Device


def test_a_new_card_knows_its_slot_and_no_update(device: Device) -> None:
    assert updates.load(device.places) == Record({"A": OWN, "B": None})
    assert "No update is recorded" in device.words
    assert "Slot B: no version is known to be in it" in device.words


def test_an_update_waits_for_its_restart_is_tried_and_is_kept(device: Device) -> None:
    device.install()
    assert device.state() is State.INSTALLED
    assert updates.load(device.places).slots == {"A": OWN, "B": NEW}
    assert "`systemctl reboot` tries it" in device.words
    device.restart("B", NEW)
    device.booted(is_trial=True)
    assert device.state() is State.TRIAL
    assert "kept once the gateway is healthy, given up for slot A otherwise" in device.words
    device.step(updates.kept(*device.known()))
    assert device.state() is State.KEPT
    assert "Version 2.0 in slot B was healthy and is kept." in device.words
    device.restart("B", NEW)
    device.booted()
    assert device.state() is State.KEPT
    assert device.card["other"] == {"slot": "A", "version": "1.0", "store_format": 5}


def test_a_slot_that_was_not_healthy_stays_said_after_the_other_s_start(device: Device) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    device.step(updates.unhealthy(*device.known(), "the gateway was not healthy 600 s after"))
    assert "The device restarts into slot A" in device.words
    device.restart("A")
    device.booted()
    assert device.state() is State.UNHEALTHY
    assert "was given up: the gateway was not healthy 600 s after" in device.words
    assert "Slot A runs; `oncegate update` installs again" in device.words


@pytest.mark.parametrize(
    ("tried", "words"),
    [(False, "did not start, or ended before it was checked"), (True, "started, and ended")],
)
def test_a_slot_that_was_left_for_the_other_is_said_to_have_returned(
    device: Device, tried: bool, words: str
) -> None:
    device.install()
    if tried:
        device.restart("B", NEW)
        device.booted(is_trial=True)
    device.restart("A")
    device.booted()
    assert device.state() is State.RETURNED
    assert words in device.words
    device.restart("A")
    device.booted()
    assert device.state() is State.RETURNED


def test_a_kept_slot_that_cannot_be_started_one_day_is_said(device: Device) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    device.step(updates.kept(*device.known()))
    device.restart("A")
    device.booted()
    assert device.state() is State.RETURNED
    assert "had been kept, and could not be started this time" in device.words


def test_a_slot_that_starts_at_last_is_on_trial_again(device: Device) -> None:
    device.install()
    device.restart("A")
    device.booted()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    assert device.state() is State.TRIAL


class Cut(BaseException):
    """Raised in place of the write at which the power is cut."""


@pytest.mark.parametrize("cut_after", range(18))
def test_a_cut_at_any_write_of_an_update_leaves_a_record_that_the_next_start_makes_true(
    device: Device, cut_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    rename, fsync = Path.rename, os.fsync

    def counted() -> None:
        nonlocal steps
        steps += 1
        if steps > cut_after:
            raise Cut

    def renamed(self: Path, target: Path) -> Path:
        counted()
        return rename(self, target)

    def fsynced(descriptor: int) -> None:
        counted()
        fsync(descriptor)

    is_cut = False
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", renamed)
        patched.setattr(os, "fsync", fsynced)
        try:
            device.install()
        except Cut:
            is_cut = True
    assert is_cut == (cut_after < steps)
    was_installed = any(call.startswith("install") for call in device.calls())
    before = device.state()
    assert before in (None, State.INSTALLING, State.INSTALLED)
    assert before is not None or not was_installed, "rauc ran, and nothing would say so"
    device.restart("A")
    device.booted()
    wanted = {
        None: None, State.INSTALLING: State.INTERRUPTED, State.INSTALLED: State.RETURNED,
    }  # fmt: skip
    assert device.state() is wanted[before]
    if before is not None:
        device.restart("B", NEW)
        device.booted(is_trial=True)
        assert device.state() is State.TRIAL


@pytest.mark.parametrize("state", [State.INSTALLING, State.INSTALLED, State.TRIAL])
def test_where_u_boot_counts_a_slot_no_more_it_was_kept_whatever_the_record_missed(
    device: Device, state: State
) -> None:
    device.install()
    last = updates.load(device.places).last
    assert last
    device.step(
        updates.begun(updates.load(device.places), device.known()[1], last)
        if state is State.INSTALLING
        else updates.load(device.places)
    )
    if state is State.TRIAL:
        device.restart("B", NEW)
        device.booted(is_trial=True)
    device.restart("B", NEW)
    device.booted(is_trial=False)
    assert device.state() is State.KEPT


def test_while_rauc_writes_the_other_slot_is_said_to_be_no_version(device: Device) -> None:
    device.install()
    device.install()
    then = json.loads((device.programs / "record-of-then").read_text())
    assert then["last"]["state"] == "installing"
    assert then["slots"]["B"] is None


def test_an_interrupted_update_names_what_runs_and_what_to_do(device: Device) -> None:
    record, now, _ = device.known()
    device.install()
    last = updates.load(device.places).last
    assert last
    device.step(updates.begun(record, now, last))
    assert "is being written into slot B" in device.words
    assert "leave the power on" in device.words
    device.restart("A")
    device.booted()
    assert device.state() is State.INTERRUPTED
    assert "restarted before the update was complete" in device.words
    assert "Slot B: no version is known to be in it" in device.words


def test_the_check_started_again_in_the_same_start_judges_nothing(device: Device) -> None:
    device.install()
    device.booted()
    assert device.state() is State.INSTALLED


def test_without_u_boot_s_word_a_new_slot_is_neither_on_trial_nor_kept(device: Device) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=None)
    assert device.state() is State.INSTALLED


def test_an_old_slot_that_runs_after_a_failed_update_does_not_count_as_the_new_one(
    device: Device,
) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    device.step(updates.kept(*device.known()))
    device.set_rauc_output("info", "", "signature verification failed: x", 1)
    with pytest.raises(Exception, match="signature"):
        device.install()
    device.restart("A")
    device.booted()
    assert device.state() is State.FAILED


HOSTILE = [
    "",
    "null",
    "[]",
    "{",
    '{"slots": {}, "last": null, "note": ""}',
    '{"slots": {"A": null, "B": null}, "last": [], "note": ""}',
    '{"slots": {"A": {"version": "1\\n", "store_format": 5}, "B": null}, "last": null, "note": ""}',
    '{"slots": {"A": {"version": "1", "store_format": true}, "B": null}, "last": null, "note": ""}',
    '{"slots": {"A": {"version": "1", "store_format": 1e999}, "B": null}, "last": null, "note":""}',
    '{"slots": {"A": null, "B": null}, "last": null, "note": "' + "x" * 401 + '"}',
    '{"slots": {"A": null, "B": null}, "last": null, "note": "\\u001b[2J"}',
    '{"slots": {"A": null, "B": null}, "last": {"state": "fine"}, "note": ""}',
    "[" * 60_000,
    "9" * 60_000,
    "\udcff\udcfe",
    "x" * 70_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_damaged_record_is_said_so_and_replaced(device: Device, text: str) -> None:
    device.install()
    device.places.updates.write_bytes(text.encode(errors="surrogateescape"))
    device.restart("A")
    device.booted()
    assert "The record of updates was damaged and is begun again" in device.words
    record = updates.load(device.places)
    assert record.last is None
    assert record.slots == {"A": OWN, "B": None}
    device.install()
    assert "damaged" not in device.words


@pytest.mark.parametrize("name", ["state", "slot", "version", "time_ms", "clock", "ends_rollback"])
@pytest.mark.parametrize("value", [17, None, "C", [], -1, True, "x" * 500, 10**30])
def test_a_record_with_one_impossible_value_is_no_record(
    device: Device, name: str, value: object
) -> None:
    device.install()
    record = json.loads(device.places.updates.read_text())
    if (name, value) in (("version", None), ("version", "C"), ("time_ms", 17)) or (
        name == "ends_rollback" and value is True
    ):
        return
    record["last"][name] = value
    device.places.updates.write_text(json.dumps(record))
    assert "damaged" in updates.load(device.places).note


def test_a_trial_whose_record_was_lost_is_still_kept(device: Device) -> None:
    device.install()
    device.places.updates.unlink()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    assert device.state() is State.TRIAL
    device.step(updates.kept(*device.known()))
    last = updates.load(device.places).last
    assert last
    assert (last.state, last.slot, last.version) == (State.KEPT, "B", "2.0")

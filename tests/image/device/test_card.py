"""The card's state as root reports it to the page and to people at a terminal: the same for both,
and of limited size."""

import json
from pathlib import Path

import pytest
from oncegate_device import card
from oncegate_device.card import LINES_MAX

from api.status.card import CardFacts, CardReader
from tests.image.device.device import Device


def provisioning_report(device: Device, text: str) -> str:
    (device.places.device / "provisioning.json").write_text(text)
    device.booted()
    return device.words


def test_the_page_understands_what_is_reported_of_each_state(device: Device) -> None:
    CardFacts.model_validate(device.card)
    device.install()
    CardFacts.model_validate(device.card)
    report = CardReader(device.places.card, Path("/nowhere")).read()
    assert report
    assert report.facts
    assert report.facts.update
    assert report.facts.update.state == "installed"
    assert f"{report.facts.update.sentence}." in device.words


def test_everyone_may_read_the_facts_and_root_alone_changes_them(device: Device) -> None:
    assert device.places.card.stat().st_mode & 0o777 == 0o644
    assert sorted(each.name for each in device.places.run.iterdir()) == ["card.json"]


def test_a_gateway_toml_that_was_taken_or_refused_is_reported_with_its_lines(
    device: Device,
) -> None:
    assert "No gateway.toml was taken yet" in device.words
    said = provisioning_report(device, '{"taken": true, "lines": ["Wi-Fi: not used"]}')
    assert "gateway.toml was taken:\n  Wi-Fi: not used" in said
    said = provisioning_report(device, '{"taken": false, "lines": ["[wifi] country is missing"]}')
    assert "gateway.toml was NOT taken:\n  [wifi] country is missing" in said


@pytest.mark.parametrize("text", ["", "[]", "{", '{"taken": 1, "lines": []}', "[" * 60_000])
def test_a_damaged_report_of_provisioning_is_said_so(device: Device, text: str) -> None:
    assert "The report of the last provisioning is damaged" in provisioning_report(device, text)
    CardFacts.model_validate(device.card)


def test_a_report_without_an_end_is_cut_to_what_the_page_takes(device: Device) -> None:
    lines = ["\x1b[2J" + "W" * 2000] * (LINES_MAX + 9)
    said = provisioning_report(device, json.dumps({"taken": False, "lines": lines}))
    assert "\x1b" not in said
    facts = CardFacts.model_validate(device.card)
    assert facts.provisioning
    assert len(facts.provisioning.lines) == LINES_MAX


def test_the_card_is_the_disk_of_the_data_partition(device: Device) -> None:
    assert device.card["device"] is None
    partition = device.root("sys/devices/mmc/block/mmcblk0/mmcblk0p4")
    partition.mkdir(parents=True)
    (partition / "partition").write_text("4\n")
    device.root("sys/class/block").mkdir(parents=True)
    device.root("sys/class/block/mmcblk0p4").symlink_to(partition)
    device.root("dev").mkdir()
    device.root("dev/mmcblk0p4").touch()
    link = device.root(card.DATA_PARTITION)
    link.parent.mkdir(parents=True)
    link.symlink_to("../../mmcblk0p4")
    device.booted()
    assert device.card["device"] == "mmcblk0"

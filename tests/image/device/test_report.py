"""The report of provisioning, its record, and the digest of the applied gateway.toml."""

import json
import subprocess

from oncegate_device.report import is_applied, write_digest, write_record, write_report

from tests.image.device.device import Device


def test_the_report_is_a_file_that_other_systems_show_and_the_record_has_the_same_lines(
    device: Device,
) -> None:
    lines = ["The gateway is called cabinet-7", "Wi-Fi: not used"]
    write_report(lines, device.places)
    write_record(lines, device.places, is_taken=True)
    report = (device.places.boot / "gateway-report.txt").read_bytes()
    assert report == b"The gateway is called cabinet-7\r\nWi-Fi: not used\r\n"
    record = json.loads((device.places.device / "provisioning.json").read_text())
    assert record == {"taken": True, "lines": lines}


def test_only_the_contents_with_the_digest_are_applied(device: Device) -> None:
    places = device.places
    assert not is_applied(b"", places)
    write_digest(b"[device]\n", places)
    assert is_applied(b"[device]\n", places)
    assert not is_applied(b"[device]", places)


def test_the_digest_is_that_of_sha256sum(device: Device) -> None:
    places = device.places
    places.file.write_text("[device]\n")
    write_digest(places.file.read_bytes(), places)
    summed = subprocess.run(["sha256sum", places.file], capture_output=True, text=True, check=True)
    assert (places.device / "gateway.toml.sha256").read_text() == summed.stdout

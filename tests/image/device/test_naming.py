"""A second card with the same name on the network: report and page state the name of this card."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from oncegate_device.naming import note

from api.status.card import CardFacts
from tests.image.device.device import Device

CHECK = Path(__file__).resolve().parents[3] / "image/overlay/usr/lib/oncegate-device/check-name"
LINE = "Name: another machine on the network is called cabinet-7: this one is found as cabinet-72."


@pytest.fixture
def cabinet(device: Device) -> Device:
    device.root("proc/sys/kernel/hostname").write_text("cabinet-7\n")
    report = {"taken": True, "lines": ["The gateway is called cabinet-7"]}
    (device.places.device / "provisioning.json").write_text(json.dumps(report))
    return device


def test_report_and_page_have_a_line_about_a_second_card_of_the_name(cabinet: Device) -> None:
    note("cabinet-72", cabinet.places, writable=cabinet._writable)
    facts = CardFacts.model_validate(cabinet.card)
    assert facts.provisioning is not None
    assert facts.provisioning.taken
    report = (cabinet.places.boot / "gateway-report.txt").read_text()
    for line in (facts.provisioning.lines[0], report.splitlines()[0]):
        assert line.startswith(LINE)
        assert "[device] hostname" in line
    assert "The gateway is called cabinet-7" in report
    assert cabinet.writable == [cabinet.places.boot]


def test_the_line_goes_when_the_name_is_this_card_s_again(cabinet: Device) -> None:
    note("cabinet-72", cabinet.places, writable=cabinet._writable)
    note("cabinet-7", cabinet.places, writable=cabinet._writable)
    assert "another machine" not in (cabinet.places.boot / "gateway-report.txt").read_text()
    assert "another machine" not in json.dumps(cabinet.card)


def test_no_text_that_is_no_host_name_reaches_the_report(cabinet: Device) -> None:
    with pytest.raises(OSError, match="no host name"):
        note("a\nb", cabinet.places, writable=cabinet._writable)


def test_the_check_reads_the_name_from_systemd_resolved_and_writes_only_a_change(
    tmp_path: Path,
) -> None:
    """The script has the card's own paths, so the test replaces three of them in its text."""
    answers = tmp_path / "busctl"
    answers.write_text('#!/bin/sh\n[ "$5" = LLMNRHostname ] && echo "s \\"$PUBLISHED\\""\n')
    answers.chmod(0o755)
    run = tmp_path / "run"
    run.write_text('#!/bin/sh\necho "<$*>"\n')
    run.chmod(0o755)
    own = tmp_path / "hostname"
    own.write_text("cabinet-7\n")
    text = CHECK.read_text().replace("/usr/lib/oncegate-device/run ", f"{run} ")
    text = text.replace("/proc/sys/kernel/hostname", str(own))
    text = text.replace("/run/oncegate-device/published-name", str(tmp_path / "published"))
    said = []
    for published in ("cabinet-7", "cabinet-72", ""):
        environment = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin", "PUBLISHED": published}
        done = subprocess.run(
            ["sh", "-c", text], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
    assert said[0] == said[2] == ""
    assert said[1].endswith("<named cabinet-72>\n")

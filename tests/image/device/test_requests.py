"""Requests of the broker on the card: hostile contents, links and pipes."""

import json
import subprocess
from pathlib import Path

import pytest
from oncegate_device import card as report
from oncegate_device import requests
from oncegate_device.places import Places

from tests.image.device.network_changes import Units, state, stored

FIXED = {"ethernet": "fixed", "ethernet_address": "192.0.2.10/24"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "JSON"),
        (b"[1]", "JSON"),
        (b"[" * 5000, "JSON"),
        (b'"' + b"x" * 9000 + b'"', "JSON"),
        (json.dumps({"hostname": "a\nb"}).encode(), "'hostname'"),
        (json.dumps({**FIXED, "ethernet_interface": "*"}).encode(), "'ethernet_interface'"),
        (json.dumps({"wifi": "join", "wifi_ssid": "unknown"}).encode(), "not stored"),
    ],
)
def test_what_cannot_be_used_is_refused_on_the_page_and_changes_nothing(
    places: Places, units: Units, content: bytes, reason: str
) -> None:
    before = stored(places)
    (places.requests / requests.CHANGE).write_bytes(content)
    requests.carry_out(places, units)
    assert state(places) == "refused"
    assert reason in str(report.network_change_of(places)["sentence"])
    assert (stored(places), units.asked) == (before, [])
    assert not list(places.requests.iterdir())


def test_a_request_is_read_through_no_link_and_no_pipe(
    places: Places, units: Units, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"hostname": "stolen"}))
    (places.requests / requests.CHANGE).symlink_to(secret)
    requests.carry_out(places, units)
    assert secret.exists()
    subprocess.run(["mkfifo", places.requests / requests.CHANGE], check=True)
    requests.carry_out(places, units)
    assert not list(places.requests.iterdir())
    assert (places.device / "hostname").read_text() == "cabinet-7\n"

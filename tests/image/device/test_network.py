"""A change of name and network on the card: on trial, kept, undone, and cut at every step."""

import subprocess
import time

import pytest
from oncegate_device import card as report
from oncegate_device import network, requests
from oncegate_device.places import Places
from oncegate_device.provisioning import provision

from gateway.process.network_settings import change_in
from tests.image.device.boot_partition import cut_after
from tests.image.device.device import Device
from tests.image.device.network_changes import CHANGE, WIFI, Units, ask, state, stored


def test_a_change_is_on_trial_and_undone_when_its_time_is_over(
    places: Places, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored(places)
    ask(places, requests.CHANGE, CHANGE)
    requests.carry_out(places, units)
    assert not list(places.requests.iterdir())
    assert state(places) == "trial"
    assert stored(places)["hostname"] == "shed-2\n"
    assert "Type=ether\nName=end0\n" in stored(places)["network/wired.network"]
    assert "Address=192.0.2.10/24\nGateway=192.0.2.1\n" in stored(places)["network/wired.network"]
    assert units.asked == [
        ("restart", "--no-block", "oncegate-network.timer"),
        ("start", "device-network-apply.service"),
        ("restart", "--no-block", "wpa_supplicant@wlan0.service"),
    ]
    assert (places.network_before / WIFI).stat().st_mode & 0o777 == 0o600
    requests.carry_out(places, units)
    assert state(places) == "trial", "its time is not over"
    monkeypatch.setattr(time, "clock_gettime", lambda _: 10.0**9)
    requests.carry_out(places, units)
    assert state(places) == "undone"
    assert stored(places) == before
    assert units.asked[-2:] == [
        ("start", "device-network-apply.service"),
        ("restart", "--no-block", "wpa_supplicant@wlan0.service"),
    ]


def test_a_change_that_is_kept_is_in_gateway_toml_and_the_report_without_secrets(
    places: Places, units: Units, device: Device
) -> None:
    ask(places, requests.CHANGE, CHANGE)
    requests.carry_out(places, units)
    ask(places, requests.KEEP)
    requests.carry_out(places, units)
    assert units.asked[-1] == ("start", "device-network-keep.service")
    network.keep(places, writable=device._writable)
    assert state(places) == "kept"
    assert not places.network_before.exists()
    text = places.file.read_text()
    assert "# My cabinet." in text
    assert 'hostname = "shed-2"' in text
    assert 'ssid = "Shed"\npassword = ""' in text
    assert 'address = "192.0.2.10/24"' in text
    assert 'interface = "end0"' in text
    everything = "".join(
        each.read_text(errors="replace") for each in places.boot.iterdir() if each.is_file()
    )
    assert "battery horse" not in everything + places.card.read_text()
    written = (places.boot / "gateway-report.txt").read_text()
    assert "The gateway is called shed-2" in written
    assert "cabinet-7" not in written
    before = stored(places)
    # The start does not take the file again, and an edit of it keeps the stored password.
    digest = (places.device / "gateway.toml.sha256").read_text().split()[0]
    done = subprocess.run(["sha256sum", places.file], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == digest
    provision(places, writable=device._writable, own=lambda *_: None)
    assert stored(places) == before
    network.keep(places, writable=device._writable)
    assert state(places) == "kept", "keeping twice changes nothing"


def test_a_change_can_be_undone_at_the_page_and_taken_back_to_dhcp(
    places: Places, units: Units, device: Device
) -> None:
    before = stored(places)
    ask(places, requests.CHANGE, {"ethernet": "fixed", "ethernet_address": "192.0.2.10/24"})
    requests.carry_out(places, units)
    assert ("restart", "--no-block", "wpa_supplicant@wlan0.service") not in units.asked
    ask(places, requests.CHANGE, {"hostname": "other"})
    requests.carry_out(places, units)
    assert stored(places)["hostname"] == before["hostname"], "one change at a time"
    assert state(places) == "trial"
    ask(places, requests.UNDO)
    requests.carry_out(places, units)
    assert stored(places) == before
    ask(places, requests.CHANGE, {"wifi": "off", "ethernet": "dhcp"})
    requests.carry_out(places, units)
    network.keep(places, writable=device._writable)
    assert "[wifi]" not in places.file.read_text()
    assert WIFI not in stored(places)


def test_a_change_of_the_adapter_alone_is_undone_to_the_former_one(
    places: Places, units: Units, device: Device
) -> None:
    fixed = {"ethernet": "fixed", "ethernet_address": "192.0.2.10/24"}
    network.begin(change_in({**fixed, "ethernet_interface": "eth0"}), places, units)
    network.keep(places, writable=device._writable)
    before = stored(places)
    network.begin(change_in({**fixed, "ethernet_interface": "eth1"}), places, units)
    assert "Name=eth1\n" in stored(places)["network/wired.network"]
    network.undo(places, "test", units)
    assert stored(places) == before
    assert "Name=eth0\n" in before["network/wired.network"]
    network.begin(change_in(fixed), places, units)
    assert "Name=" not in stored(places)["network/wired.network"], "all adapters again"


def test_a_change_that_systemd_cannot_apply_is_undone(places: Places, units: Units) -> None:
    before = stored(places)
    units.fails = True
    with pytest.raises(subprocess.SubprocessError):
        network.begin(change_in(CHANGE), places, units)
    assert stored(places) == before
    assert state(places) == "undone"


def test_a_power_cut_at_any_step_leaves_the_former_settings_after_the_start(
    places: Places, units: Units
) -> None:
    before = stored(places)
    for steps in range(40):
        with cut_after(steps):
            network.begin(change_in(CHANGE), places, units)
        if places.network_before.exists():
            network.restore(places, "the gateway was restarted before it was kept")
        assert stored(places) == before, steps


def test_a_power_cut_while_it_is_undone_ends_in_the_former_settings(
    places: Places, units: Units
) -> None:
    before = stored(places)
    for steps in range(20):
        network.begin(change_in(CHANGE), places, units)
        with cut_after(steps):
            network.undo(places, "test", units)
        if places.network_before.exists():
            network.restore(places, "the gateway was restarted before it was kept")
        assert stored(places) == before, steps


def test_a_gateway_toml_with_a_mistake_is_left_as_it_is(
    places: Places, units: Units, device: Device
) -> None:
    places.file.write_text("[device\n")
    network.begin(change_in({"hostname": "shed-2"}), places, units)
    network.keep(places, writable=device._writable)
    assert places.file.read_text() == "[device\n"
    assert "gateway.toml has mistakes" in str(report.network_change_of(places)["sentence"])


def test_a_card_without_a_gateway_toml_gets_one(
    places: Places, units: Units, device: Device
) -> None:
    places.file.unlink()
    network.begin(change_in({"hostname": "shed-2"}), places, units)
    network.keep(places, writable=device._writable)
    assert state(places) == "kept"
    assert 'hostname = "shed-2"' in places.file.read_text()
